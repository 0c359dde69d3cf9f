"""Reads archived samples in their files, for who reads stretch after stretch of a long window.

Neither their table nor a temporary one gets them: of a scan of many rows that takes most of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg

from observatory.store.archive.catalogue import Piece
from observatory.store.archive.scans.conditions import Condition
from observatory.store.places.scan_places import scan_place
from observatory.store.queries.alerts.series import Array, SeriesWindow, samples_within
from observatory.store.reading.scanning import of_files, one_snapshot, removed_kinds

if TYPE_CHECKING:  # imports pyarrow, which not each process needs
    from observatory.store.archive.scans.samples import SamplesInOrder


class ArchivedSamples:
    """Is called as `samples_within`, for windows that begin and end later and later."""

    def __init__(self, pieces: Sequence[Piece], samples: SamplesInOrder) -> None:
        self._pieces, self._samples = pieces, samples
        self._are_replaced = False

    @property
    def is_here(self) -> bool:
        """Whether this process reads them, not a Dask cluster."""
        return self._samples.is_here

    def __call__(self, connection: psycopg.Connection, wanted: Sequence[SeriesWindow]) -> dict[str, Array]:
        """Raises NoPlace, ArchiveError, AskerGone and psycopg.Error."""
        start = min((each.start for each in wanted), default=0)
        stop = max((each.stop for each in wanted), default=0)
        columns: dict[str, Array] | None = None
        if not self._are_replaced:
            columns = of_files(self._pieces, lambda place: self._samples.within(start, stop))
        if columns is None:
            self._are_replaced = True
            return samples_within(connection, wanted)  # which brings them back
        return _of_series(columns, wanted)


@contextmanager
def archived_samples(
    connection: psycopg.Connection, cluster: int, condition: Condition
) -> Iterator[ArchivedSamples | None]:
    """The samples that meet a condition; None where they are in their table.

    Raises NoPlace, ArchiveError and psycopg.Error.
    """
    with one_snapshot(connection) as reader:
        pieces = None if reader is None else removed_kinds(reader, cluster, ["sample"]).get("sample")
        if pieces is None:
            yield None
            return
        from observatory.store.archive.place import required_place
        from observatory.store.archive.restoring.ids import Ids
        from observatory.store.archive.scans.samples import SamplesInOrder

        ids = Ids(connection, cluster)
        with scan_place(), closing(SamplesInOrder(required_place(), pieces, condition, ids)) as samples:
            yield ArchivedSamples(pieces, samples)


def _of_series(columns: dict[str, Array], wanted: Sequence[SeriesWindow]) -> dict[str, Any]:
    """The samples of each series in its window."""
    if not wanted:
        return {name: values[:0] for name, values in columns.items()}
    windows = np.array(sorted((each.series, each.start, each.stop) for each in wanted), np.int64)
    series, starts, stops = windows.T
    places = np.minimum(np.searchsorted(series, columns["series"]), len(series) - 1)
    kept = series[places] == columns["series"]
    kept &= (columns["time"] >= starts[places]) & (columns["time"] < stops[places])
    return {name: values[kept] for name, values in columns.items()}
