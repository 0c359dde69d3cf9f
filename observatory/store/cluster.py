"""What the writer remembers of one cluster, so that a batch of known things is stored without a look-up."""

from __future__ import annotations

from collections.abc import Sequence

from observatory.store.accepted import Accepted
from observatory.store.lifetimes import Lane, Workers
from observatory.store.names import Names
from observatory.store.series import SeriesTable
from observatory.store.texts import clean_name
from observatory.wire.records import Span, WorkerGone, WorkerSeen


class Cluster:
    """Valid as long as its extent's stamp is the one that the writer left."""

    def __init__(self, id: int) -> None:
        self.workers = Workers(id)
        self.names = Names(id)
        self.series = SeriesTable(id)
        self.stamp = ""
        """the transaction that last wrote the extent"""
        self._lanes: dict[tuple[str, int], Lane] = {}
        """by address and thread, as they came in: of the newest lifetime that was met"""

    def __len__(self) -> int:
        return len(self.workers) + len(self.names) + len(self.series) + len(self._lanes)

    def live_and_die(self, accepted: Accepted) -> None:
        """Opens and closes lifetimes, in order of time; one that ends as another starts ends first."""
        changes: list[WorkerSeen | WorkerGone] = [*accepted.gone, *accepted.workers]
        for change in sorted(changes, key=lambda change: (change.time, isinstance(change, WorkerSeen))):
            if isinstance(change, WorkerSeen):
                self.workers.seen(change)
            else:
                self.workers.gone(change)

    def lanes_of(self, spans: Sequence[Span]) -> list[Lane]:
        """The lane of each span. New ones get their ids when the workers are saved."""
        found: list[Lane] = []
        lanes = self._lanes
        for span in spans:
            place = (span.worker, span.thread)
            lane = lanes.get(place)
            if lane is None or not lane.lifetime.started <= span.start < lane.lifetime.ended:
                lifetime = self.workers.at(clean_name(span.worker), span.start)
                lane = lanes[place] = self.workers.lane(lifetime, span.thread)
            found.append(lane)
        return found
