"""What the writer remembers of one cluster, so that a batch of known names is stored without look-ups."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import psycopg

from observatory.store.ingest.batches.record_columns import Coded, Records
from observatory.store.ingest.interning.lifetime import Lane
from observatory.store.ingest.interning.lifetimes import Workers, all_alive
from observatory.store.ingest.interning.names import Names
from observatory.store.ingest.interning.series import SeriesTable
from observatory.store.ingest.interning.stacks import Stacks
from observatory.store.texts import clean_name
from observatory.wire.records import WorkerGone, WorkerSeen

KNOWN_SIZE, PLACE_SIZE = 3_000, 250
"""bytes of memory of a cluster of which nothing is known, and of the place of a lane"""


class KnownCluster:
    """Valid while the cluster's extent was last written by the transaction `written_by`."""

    def __init__(self, id: int) -> None:
        self.id = id
        self.workers = Workers(id)
        self.names = Names(id)
        self.series = SeriesTable(id)
        self.stacks = Stacks(id)
        self.written_by = ""
        """the transaction that last wrote the extent"""
        self.is_scraped = False
        """no agent reported of it by then"""
        self._lanes: dict[tuple[str, int], Lane] = {}
        """by address and thread: of the lifetime that was seen last"""

    @property
    def size(self) -> int:
        """Bytes of memory, by estimate."""
        parts = self.workers.size + self.names.size + self.series.size + self.stacks.size
        return KNOWN_SIZE + parts + PLACE_SIZE * len(self._lanes)

    def update_lifetimes(
        self, connection: psycopg.Connection, seen: Iterable[WorkerSeen], gone: Iterable[WorkerGone]
    ) -> None:
        """Opens and closes lifetimes, in order of time; one that ends as another starts ends first."""
        self.workers.refused.clear()
        self.stacks.refused = 0
        changes: list[WorkerSeen | WorkerGone] = [*gone, *seen]
        self.workers.load(connection, (clean_name(change.address) for change in changes))
        for change in sorted(changes, key=lambda change: (change.time, isinstance(change, WorkerSeen))):
            if isinstance(change, WorkerSeen):
                self.workers.seen(change)
            else:
                self.workers.gone(change)

    def lanes_of(self, connection: psycopg.Connection, records: Records, worker: str) -> Coded:
        """The lane of each record: the field named by `worker` holds the address, `thread` the thread.

        New lanes get their ids when the workers are saved.
        """
        addresses, threads = records.coded(worker), records.numbers("thread")
        known_threads, thread_codes = np.unique(threads, return_inverse=True)
        places, codes = np.unique(addresses.codes * len(known_threads) + thread_codes, return_inverse=True)
        keys = [
            (addresses.values[place // len(known_threads)], int(known_threads[place % len(known_threads)]))
            for place in places.tolist()
        ]
        lanes = [self._lanes.get(key) for key in keys]
        lifetimes = {lane.lifetime for lane in lanes if lane is not None}
        if None not in lanes and all_alive(lifetimes, records.times):
            return Coded(lanes, codes)
        self.workers.load(connection, (address for address, _ in keys))
        rows = zip(codes.tolist(), records.times.tolist(), strict=True)
        return Coded.of_rows([self._lane(keys[code], start) for code, start in rows])

    def _lane(self, place: tuple[str, int], start: float) -> Lane:
        lane = self._lanes.get(place)
        if lane is None or not lane.lifetime.started <= start < lane.lifetime.ended:
            lifetime = self.workers.of_span(place[0], start)
            lane = self._lanes[place] = self.workers.lane(lifetime, place[1])
        return lane
