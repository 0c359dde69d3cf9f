"""Reads the samples of metrics from files, in order of time: series as numbers, and nothing else of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from observatory.store.archive.catalogue import Piece
from observatory.store.archive.place import Place
from observatory.store.archive.restoring.ids import Ids
from observatory.store.archive.scans.conditions import Condition
from observatory.store.archive.scans.matching import matching_columns
from observatory.store.archive.scans.reading_ahead import ReadingAhead
from observatory.store.archive.scans.row_groups import RowGroup, row_groups
from observatory.store.times import to_microseconds

Array = npt.NDArray[Any]
Name = tuple[int | None, str, str]
"""of a series: the lifetime of its worker, metric and labels"""
NAME = ("worker_lifetime", "metric", "labels")
NO_WORKER = -1


@dataclass(frozen=True, slots=True)
class SomeSamples:
    """Those of one row group that are wanted."""

    names: list[Name]
    of: Array
    """for each sample the index of its series in `names`"""
    times: Array
    """microseconds"""
    values: Array


def samples_of(group: RowGroup, condition: Condition) -> SomeSamples:
    """The samples of a row group that meet a condition. Raises ArchiveError."""
    found = matching_columns(group, condition, ("time", "value", *NAME))
    if found is None or not found.num_rows:
        return SomeSamples([], np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.float64))
    lifetimes = pc.fill_null(found.column("worker_lifetime"), NO_WORKER).to_numpy()
    metrics, labels = (found.column(name).combine_chunks() for name in ("metric", "labels"))
    coded = [
        each if isinstance(each, pa.DictionaryArray) else each.dictionary_encode()
        for each in (metrics, labels)
    ]
    codes = [each.indices.to_numpy(zero_copy_only=False).astype(np.int64) for each in coded]
    texts = [each.dictionary.to_pylist() for each in coded]
    together = ((lifetimes.astype(np.int64) + 1) * len(texts[0]) + codes[0]) * len(texts[1]) + codes[1]
    _, first, of = np.unique(together, return_index=True, return_inverse=True)
    names: list[Name] = [
        (
            None if lifetimes[place] == NO_WORKER else int(lifetimes[place]),
            texts[0][codes[0][place]],
            texts[1][codes[1][place]],
        )
        for place in first.tolist()
    ]
    times = pc.cast(found.column("time"), pa.timestamp("us")).cast(pa.int64()).to_numpy()
    return SomeSamples(names, of.astype(np.int32), times, found.column("value").to_numpy())


class SamplesInOrder:
    """The samples of metrics, for stretches of time that begin and end later and later."""

    def __init__(self, place: Place, pieces: Sequence[Piece], condition: Condition, ids: Ids) -> None:
        self._ids = ids
        self._known: dict[Name, int] = {}
        self._read: deque[tuple[int, dict[str, Array]]] = deque()
        """the last time of a row group, and its samples"""
        groups = ((group, condition) for group in _in_order(place, pieces, condition))
        self._reading = ReadingAhead(groups, samples_of, [(pieces, condition)])

    @property
    def is_here(self) -> bool:
        """Whether this process reads them."""
        return self._reading.is_here

    def within(self, start: int, stop: int) -> dict[str, Array]:
        """Columns of all samples of [start, stop) (microseconds), and of some others: series, time, value.

        Raises ArchiveError, AskerGone and psycopg.Error.
        """
        while (group := self._reading.following()) is not None and to_microseconds(group.first) < stop:
            self._read.append((to_microseconds(group.last), self._with_ids(self._reading.read())))
        self._read = deque(each for each in self._read if each[0] >= start)
        if not self._read:
            return self._with_ids(SomeSamples([], *(np.empty(0, kind) for kind in (int, int, float))))
        parts = [part for _, part in self._read]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def close(self) -> None:
        self._reading.close()

    def _with_ids(self, found: SomeSamples) -> dict[str, Array]:
        new = [name for name in found.names if name not in self._known]
        # samples have a series, so that there is no None
        self._known |= {
            name: id for name, id in zip(new, self._ids.of("series", new), strict=True) if id is not None
        }
        ids = np.array([self._known[name] for name in found.names], np.int32)
        series = ids[found.of] if len(ids) else np.empty(0, np.int32)
        return {"series": series, "time": found.times, "value": found.values}


def _in_order(place: Place, pieces: Sequence[Piece], condition: Condition) -> Iterator[RowGroup]:
    # each file begins where the one before ends
    for piece in sorted(pieces, key=lambda piece: piece.start):
        yield from sorted(row_groups(place, [piece], condition), key=lambda group: group.first)
