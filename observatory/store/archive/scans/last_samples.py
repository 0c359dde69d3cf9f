"""Finds the last samples of series until an instant in files, of which few are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from time import monotonic

import numpy as np
import pyarrow as pa

from observatory.store.archive.catalogue import Piece
from observatory.store.archive.files.columns import TIME
from observatory.store.archive.place import Place
from observatory.store.archive.restoring.ids import CLUSTER, Ids
from observatory.store.archive.scans.conditions import Condition
from observatory.store.archive.scans.readers import Threads
from observatory.store.archive.scans.reading_ahead import ReadingAhead
from observatory.store.archive.scans.row_groups import RowGroup, row_groups
from observatory.store.archive.scans.samples import Name, SomeSamples, samples_of

IsEnough = Callable[[Collection[Name]], bool]
"""is called with the names of the series that were found"""


def last_samples(
    place: Place,
    pieces: Sequence[Piece],
    condition: Condition,
    each: int,
    until: float,
    is_enough: IsEnough | None = None,
) -> list[SomeSamples] | None:
    """The last `each` samples of each series that meet a condition, of each row group, the newest first.

    Earlier row groups are not read once `is_enough` holds. None after `until`, one of time.monotonic().
    Raises ArchiveError and AskerGone.
    """
    found: list[SomeSamples] = []
    names: set[Name] = set()
    groups = ((group, condition) for group in _newest_first(place, pieces, condition))
    reader = Threads(0) if is_enough else None
    with closing(ReadingAhead(groups, samples_of, [(pieces, condition)], reader)) as reading:
        while not (is_enough and is_enough(names)) and reading.following() is not None:
            if monotonic() > until:
                return None
            samples = newest(reading.read(), each)
            if samples.names:
                found.append(samples)
                names.update(samples.names)
    return found


def newest(samples: SomeSamples, each: int) -> SomeSamples:
    """The last `each` samples of each series."""
    order = np.lexsort((samples.times, samples.of))
    of = samples.of[order]
    left = np.searchsorted(of, of, side="right") - np.arange(len(of))
    kept = order[left <= each]
    return SomeSamples(samples.names, samples.of[kept], samples.times[kept], samples.values[kept])


def table_of(samples: Collection[SomeSamples], ids: Ids) -> pa.Table:
    """The samples as their table has them. Raises ArchiveError and psycopg.Error."""
    parts = [_with_ids(each, ids) for each in samples]
    return pa.concat_tables(parts) if parts else pa.table({})


def _with_ids(samples: SomeSamples, ids: Ids) -> pa.Table:
    series = np.array(ids.of("series", samples.names), np.int32)
    return pa.table(
        {
            "time": pa.array(samples.times, pa.int64()).cast(TIME),
            "value": pa.array(samples.values, pa.float64()),
            "series_id": pa.array(series[samples.of]),
            CLUSTER: pa.array(np.full(len(samples.of), ids.cluster, np.int32)),
        }
    )


def _newest_first(place: Place, pieces: Sequence[Piece], condition: Condition) -> Iterator[RowGroup]:
    # each file begins where the one before ends
    for piece in sorted(pieces, key=lambda piece: piece.start, reverse=True):
        yield from sorted(row_groups(place, [piece], condition), key=lambda group: group.last, reverse=True)
