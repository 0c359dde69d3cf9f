"""What attached profiles and traces have in a window: which function ran when, and the stacks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg
from django.db.models import QuerySet

from observatory.exchange.attachments.binned_stacks import BinnedStacks, Integers, unpack
from observatory.exchange.attachments.schemas import AttachedProfiles
from observatory.replay.answers.window_answer import Item, WindowAnswer
from observatory.replay.scope import Scope, Section
from observatory.runs.models import Attachment

MOST_THREADS, MOST_STACKS, PIECES = 32, 2_000, 400
"""of an answer: of a file, of all files, and of a thread at most"""
Floats = npt.NDArray[np.float64]
CACHED = 8
"""files whose stacks are kept in memory, some MB each"""


def attached_profiles(connection: psycopg.Connection, scope: Scope, after: int, before: int) -> Item:
    """Those of the scope in [after, before) (microseconds)."""
    start, stop = max(after, scope.start) / 1e6, min(before, scope.stop) / 1e6
    building = _Answer(scope)
    if Section.CODE in scope.sections and start < stop:
        for attachment in attachments_of(scope):
            building.add(attachment, start, stop)
    return building.answer()


def attachments_of(scope: Scope) -> QuerySet[Attachment]:
    """The files that are attached to the scope's run, or to all runs of its cluster."""
    of = {"run": scope.run} if scope.run is not None else {"run__cluster": scope.cluster}
    return Attachment.objects.filter(**of).defer("stacks")


@lru_cache(CACHED)
def _stacks_of(attachment: int, digest: str) -> BinnedStacks:
    return unpack(bytes(Attachment.objects.values_list("stacks", flat=True).get(pk=attachment)))


def _within(stacks: BinnedStacks, rows: Integers, width: float, start: float, stop: float) -> Floats:
    """Microseconds of the rows in [start, stop), seconds since the file's start; a bin is as a whole."""
    begins = stacks.bin[rows] * width
    inside = np.minimum(begins + width, stop) - np.maximum(begins, start)
    times: Floats = stacks.nanoseconds[rows] / 1e3 * np.clip(inside / width, 0, 1)
    return times


class _Answer:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._files: list[Item] = []
        self._functions: dict[str, int] = {}
        self._sums: dict[str, list[tuple[int, int, int]]] = defaultdict(list)

    def add(self, attachment: Attachment, start: float, stop: float) -> None:
        begins = attachment.start.timestamp()
        ends = begins + attachment.seconds
        if ends <= start or begins >= stop:
            return
        stacks = _stacks_of(attachment.pk, attachment.digest)
        width = attachment.seconds / stacks.bins
        first = max(int((start - begins) / width), 0)
        last = min(int(np.ceil((stop - begins) / width)), stacks.bins)
        rows = np.flatnonzero((stacks.bin >= first) & (stacks.bin < last))
        times = _within(stacks, rows, width, start - begins, stop - begins)
        spent = np.bincount(stacks.thread[rows], times, len(attachment.threads))
        shown = [thread for thread in np.argsort(-spent, kind="stable").tolist() if spent[thread]]
        listed = sorted(shown[:MOST_THREADS])
        for place, thread in enumerate(listed):
            of_thread = stacks.thread[rows] == thread
            self._add_stacks(stacks, rows[of_thread], times[of_thread], place)
        self._files.append(
            {
                "id": attachment.pk,
                "name": self._scope.text(attachment.name),
                "format": attachment.format,
                "start": max(begins, start) if self._scope.is_public else begins,
                "stop": min(ends, stop) if self._scope.is_public else ends,
                "threads": [
                    self._thread(
                        attachment.threads[thread],
                        spent[thread] / 1e6,
                        [
                            (max(from_, start), min(to, stop), function)
                            for from_, to, function in self._pieces(
                                stacks, rows[stacks.thread[rows] == thread], begins, width, last - first
                            )
                            if to > start and from_ < stop
                        ],
                    )
                    for thread in listed
                ],
                "other_threads": len(shown) - len(listed),
            }
        )

    def _thread(self, known: dict[str, Any], seconds: float, pieces: list[Any]) -> Item:
        hides = self._scope.pseudonyms is not None
        return {
            "process": "" if hides else known["process"],
            "name": self._scope.text(known["name"]),
            "worker": known["worker"],
            "seconds": seconds,
            "pieces": pieces,
        }

    def _add_stacks(self, stacks: BinnedStacks, rows: Integers, times: Floats, thread: int) -> None:
        nodes, places = np.unique(stacks.node[rows], return_inverse=True)
        sums = np.bincount(places, times)
        for node, spent in zip(nodes.tolist(), sums.tolist(), strict=True):
            self._sums[stacks.stack(node)].append((len(self._files), thread, round(spent)))

    def _pieces(
        self, stacks: BinnedStacks, rows: Integers, begins: float, width: float, bins: int
    ) -> list[tuple[float, float, int]]:
        """What ran for most of each stretch of bins; neighbours with the same function are one piece."""
        merged = -(-bins // PIECES)
        found: list[tuple[float, float, int]] = []
        for place, function in self._dominant(stacks, rows, merged):
            start = begins + place * merged * width
            stop = min(start + merged * width, begins + stacks.bins * width)
            if found and found[-1][2] == function and abs(found[-1][1] - start) < width / 2:
                found[-1] = (found[-1][0], stop, function)
            else:
                found.append((start, stop, function))
        return found

    def _dominant(self, stacks: BinnedStacks, rows: Integers, merged: int) -> Iterator[tuple[int, int]]:
        sums: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        frames = stacks.frames
        columns = (stacks.bin[rows] // merged, stacks.node[rows], stacks.nanoseconds[rows])
        for place, node, spent in zip(*(column.tolist() for column in columns), strict=True):
            sums[place][frames[node]] += spent
        for place in sorted(sums):
            frame = max(sums[place], key=lambda frame: sums[place][frame])
            yield place, self._function(stacks.lines[frame])

    def _function(self, line: str) -> int:
        name = self._scope.text(line.rpartition("\t")[0])
        return self._functions.setdefault(name, len(self._functions))

    def answer(self) -> Item:
        longest = sorted(self._sums.items(), key=lambda each: -sum(spent for *_, spent in each[1]))
        return {
            "files": self._files,
            "functions": list(self._functions),
            "stacks": [
                {"stack": self._scope.text(stack), "microseconds": spent}
                for stack, spent in longest[:MOST_STACKS]
            ],
            "other_microseconds": sum(spent for _, each in longest[MOST_STACKS:] for *_, spent in each),
        }


ANSWER = WindowAnswer(
    "attached-profiles",
    "Profiles and traces that are attached to the runs of the timeline, in after ≤ time < before.",
    AttachedProfiles,
    attached_profiles,
)
