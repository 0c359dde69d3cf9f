"""The computations of a window, compared with what the tasks of their prefix usually take."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from observatory.replay.windows.stragglers import FEWEST, fence_of
from observatory.why.intervals import Flags, Integers, Numbers
from observatory.why.records import Spans
from observatory.why.thread_times.assignments import is_repeated

FEWEST_BESIDE = 8
"""tasks of a prefix: one that takes as long as all others together stands out, however they differ"""


class Computations:
    """Rows are those of `spans`; durations are seconds."""

    def __init__(self, spans: Spans) -> None:
        self.spans = spans
        self.durations: Numbers = (spans.times.stop - spans.times.start) / 1e6
        self._prefixes, self._place = np.unique(spans.prefix, return_inverse=True)

    @property
    def finished(self) -> Flags:
        return ~self.spans.is_error

    @cached_property
    def counts(self) -> dict[int, int]:
        """Finished computations, by prefix."""
        counts = np.bincount(self._place[self.finished], minlength=len(self._prefixes))
        return dict(zip(self._prefixes.tolist(), counts.tolist(), strict=True))

    @cached_property
    def usual(self) -> Numbers:
        """The median of the finished tasks of the row's prefix; NaN: there are fewer than FEWEST."""
        return self._of_prefixes(lambda durations: float(np.median(durations)))

    @cached_property
    def longest_usual(self) -> Numbers:
        """The upper end of what tasks of the row's prefix take as a rule."""

        def fence(durations: Numbers) -> float:
            lower, upper = np.percentile(durations, [25, 75], method="lower")
            return float(fence_of(lower, upper))

        return self._of_prefixes(fence)

    @cached_property
    def is_most_of_prefix(self) -> Flags:
        """Whether it took as long as all others of its prefix together, of which there are some."""
        total = self._of_prefixes(lambda durations: float(durations.sum()))
        counts = self._of_prefixes(lambda durations: float(len(durations)))
        return np.asarray((np.nan_to_num(counts) >= FEWEST_BESIDE) & (2 * self.durations >= total))

    @cached_property
    def repeated(self) -> Flags:
        """Whether it repeats one that had finished in the window."""
        return is_repeated(self.spans)

    def failed(self, prefix: int) -> Integers:
        """The failed attempts of a prefix."""
        return np.flatnonzero(self._has_failed & (self.spans.prefix == prefix))

    def rescheduled(self, prefix: int) -> Integers:
        """The calls of a prefix that raised `Reschedule`."""
        return np.flatnonzero(self.spans.is_rescheduled & (self.spans.prefix == prefix))

    @property
    def _has_failed(self) -> Flags:
        return self.spans.is_error & ~self.spans.is_rescheduled

    def failed_before(self, prefix: int, was_repeated: bool) -> Integers:
        """Those that were, or were not, followed by another attempt at their task."""
        spans = self.spans
        rows = np.flatnonzero(spans.prefix == prefix)
        order = rows[np.lexsort((spans.times.start[rows], spans.task[rows]))]
        is_followed = np.append(spans.task[order][1:] == spans.task[order][:-1], False)[: len(order)]
        return np.sort(order[self._has_failed[order] & (is_followed == was_repeated)])

    @cached_property
    def worker_before(self) -> Integers:
        """Of a repeated computation: the worker of the last one that had finished; else 0."""
        spans = self.spans
        order = np.lexsort((spans.times.start, spans.task))
        found = np.zeros(len(spans), np.int64)
        last_task, last_worker = None, 0
        for row in order[np.isin(spans.task[order], spans.task[self.repeated])].tolist():
            task = int(spans.task[row])
            if task != last_task:
                last_task, last_worker = task, 0
            if self.repeated[row]:
                found[row] = last_worker
            if not spans.is_error[row]:
                last_worker = int(spans.worker[row])
        return found

    def median(self, prefix: int) -> float:
        found = self.durations[(self.spans.prefix == prefix) & self.finished]
        return float(np.median(found)) if len(found) else 0.0

    def longest_of(self, prefix: int) -> float:
        """The upper end of what tasks of a prefix take as a rule; 0: too few finished."""
        found = self.longest_usual[self.spans.prefix == prefix]
        return float(found[0]) if len(found) and not np.isnan(found[0]) else 0.0

    def _of_prefixes(self, figure: object) -> Numbers:
        assert callable(figure)
        values = np.full(len(self._prefixes), np.nan)
        finished = self.finished
        order = np.argsort(self._place, kind="stable")
        edges = np.searchsorted(self._place[order], np.arange(len(self._prefixes) + 1))
        for number in range(len(self._prefixes)):
            rows = order[edges[number] : edges[number + 1]]
            durations = self.durations[rows][finished[rows]]
            if len(durations) >= FEWEST:
                values[number] = figure(durations)
        return values[self._place] if len(self._place) else np.zeros(0)
