"""What the writer remembers of one cluster, so that a batch of known things is stored without a look-up."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from observatory.store.ingest.lifetimes import Lane, Workers, all_alive
from observatory.store.ingest.names import Names
from observatory.store.ingest.series import SeriesTable
from observatory.store.ingest.validated import Accepted, Spans
from observatory.store.stacks import Stacks
from observatory.store.texts import clean_name
from observatory.wire.records import WorkerGone, WorkerSeen


class Cluster:
    """Valid as long as its extent's stamp is the one that the writer left."""

    def __init__(self, id: int) -> None:
        self.workers = Workers(id)
        self.names = Names(id)
        self.series = SeriesTable(id)
        self.stacks = Stacks(id)
        self.stamp = ""
        """the transaction that last wrote the extent"""
        self.is_stock = False
        """no agent told of it by then"""
        self._lanes: dict[tuple[str, int], Lane] = {}
        """by address, as it came in, and thread: of the lifetime that was met last"""

    def __len__(self) -> int:
        return len(self.workers) + len(self.names) + len(self.series) + len(self.stacks) + len(self._lanes)

    def live_and_die(self, connection: psycopg.Connection, accepted: Accepted) -> None:
        """Opens and closes lifetimes, in order of time; one that ends as another starts ends first."""
        changes: list[WorkerSeen | WorkerGone] = [*accepted.gone, *accepted.workers]
        self.workers.load(connection, (clean_name(change.address) for change in changes))
        for change in sorted(changes, key=lambda change: (change.time, isinstance(change, WorkerSeen))):
            if isinstance(change, WorkerSeen):
                self.workers.seen(change)
            else:
                self.workers.gone(change)

    def lanes_of(self, connection: psycopg.Connection, spans: Spans) -> Sequence[Lane]:
        """The lane of each span. New ones get their ids when the workers are saved."""
        if not len(spans):
            return []
        known = list(map(self._lanes.get, zip(spans.workers, spans.threads, strict=True)))
        lanes = set(known)
        if None not in lanes and all_alive((lane.lifetime for lane in lanes if lane), spans.starts):
            return known  # type: ignore[return-value]  # there is no None in it
        self.workers.load(connection, map(clean_name, set(spans.workers)))
        return [
            self._lane((worker, thread), start)
            for worker, thread, start in zip(spans.workers, spans.threads, spans.starts.tolist(), strict=True)
        ]

    def _lane(self, place: tuple[str, int], start: float) -> Lane:
        lane = self._lanes.get(place)
        if lane is None or not lane.lifetime.started <= start < lane.lifetime.ended:
            lifetime = self.workers.at(clean_name(place[0]), start)
            lane = self._lanes[place] = self.workers.lane(lifetime, place[1])
        return lane
