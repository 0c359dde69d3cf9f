"""The limit on the series of each cluster of an agent, in what this process remembers of its batches."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from time import monotonic

import numpy as np
from cachetools import LRUCache

from observatory.collect.collector.clusters.series_limit import SeriesLimit
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.batches.record_columns import Records, joined, records_of_rows
from observatory.store.ingest.resumption import known_series, new_series
from observatory.wire.event_kinds import SERIES_REFUSED
from observatory.wire.kinds import KINDS
from observatory.wire.records import Series

SERIES = 200_000
"""of one cluster, of metrics of other programs"""
MOST_BYTES = 32 << 20
"""of the series that are known of all clusters: some 300,000"""
FORGETTING = 600.0
"""seconds after which all series of a cluster may be read again: other processes know of workers that left"""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a cluster."""

    limit: SeriesLimit
    sequence: int
    """of the agent's last batch: others of it may have reached another process"""
    last: int
    """the id of the newest series that was read"""
    read: float
    """when all series were read (monotonic)"""

    @property
    def size(self) -> int:
        return self.limit.size


_known: LRUCache[int, Known] = LRUCache(MOST_BYTES, getsizeof=lambda known: known.size)
"""by cluster"""
_lock = threading.Lock()


def limit_series(batch: Batch, sequence: int) -> tuple[Batch, int]:
    """The batch without samples of series over the limit, and their number. Adds an event the first time."""
    with _lock:
        known = _known.pop(batch.cluster, None)
    records = dict(batch.records)
    known = _updated(batch.cluster, known, sequence, records)
    limit = known.limit
    before = len(limit.messages)
    refused = 0
    if "sample" in records:
        samples = records["sample"]
        records["sample"] = samples.where(samples.coded("series").numbers(limit.admits, np.bool_))
        refused = len(samples) - len(records["sample"])
        new = list(limit.messages.values())[before:]
        if new:
            rows = [(float(samples.times[-1]), SERIES_REFUSED, "", {"message": message}) for message in new]
            events = records_of_rows(KINDS["event"], rows)
            records["event"] = joined([records["event"], events]) if "event" in records else events
    for gone in batch.gone:
        limit.forget(gone.address)
    with _lock:
        if limit.size <= MOST_BYTES:
            _known[batch.cluster] = replace(known, sequence=sequence)
    return replace(batch, records=records), refused


def _updated(cluster: int, known: Known | None, sequence: int, records: Mapping[str, Records]) -> Known:
    """With what other processes stored, if batches are missing here and this one has unknown series."""
    if known is not None and (sequence == known.sequence + 1 or known.limit.knows_all(_series(records))):
        return known
    if known is None or monotonic() - known.read > FORGETTING:
        series, last = known_series(cluster)
        return Known(SeriesLimit(SERIES, series), sequence, last, monotonic())
    # each batch of an agent whose batches arrive in any order would read all series
    series, last = new_series(cluster, known.last)
    known.limit.add(series)
    return replace(known, last=max(last, known.last))


def _series(records: Mapping[str, Records]) -> Iterable[Series]:
    return records["sample"].coded("series").values if "sample" in records else ()
