"""Records that were dropped before they were stored: counted, then recorded as events `records-dropped`."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from observatory.store.ingest.batches.batch import BatchBuilder
from observatory.wire.dropped_records import DropReason, dropped_detail
from observatory.wire.event_kinds import RECORDS_DROPPED
from observatory.wire.records import Event

logger = logging.getLogger(__name__)

REPORT_INTERVAL = 60.0
"""Most seconds between the first record that is dropped and its event; those of the meantime share it."""


@dataclass(slots=True)
class Loss:
    """Dropped records. Times are on the scheduler's clock."""

    first: float
    last: float
    count: int

    def add(self, first: float, last: float, count: int) -> None:
        self.first, self.last = min(self.first, first), max(self.last, last)
        self.count += count


Losses = dict[tuple[int, str, DropReason], Loss]


class Dropped:
    """The records that were dropped since the last report."""

    def __init__(self) -> None:
        self.losses: Losses = {}
        """By cluster, kind of record and reason."""
        self.since = 0.0
        """When the first of them was dropped (monotonic)."""

    def add(self, cluster: int, kind: str, reason: DropReason, times: Collection[float]) -> None:
        """Counts records of one kind; `times` has one time of each, or more."""
        self.add_loss(cluster, kind, reason, Loss(min(times), max(times), len(times)))

    def add_loss(self, cluster: int, kind: str, reason: DropReason, loss: Loss) -> None:
        if not self.losses:
            self.since = time.monotonic()
        known = self.losses.setdefault((cluster, kind, reason), Loss(loss.first, loss.last, 0))
        known.add(loss.first, loss.last, loss.count)

    def add_batch(self, batch: BatchBuilder, reason: DropReason) -> None:
        """Counts the records of a batch."""
        for kind, times in times_of(batch).items():
            if times:
                self.add(batch.cluster, kind, reason, times)

    @property
    def is_due(self) -> bool:
        """Whether the first record was dropped so long ago that it has to be reported now."""
        return bool(self.losses) and time.monotonic() - self.since > REPORT_INTERVAL

    def take(self) -> dict[int, Losses]:
        """Takes out what was dropped, by cluster. A report that is not stored has to be added again."""
        taken: dict[int, Losses] = defaultdict(dict)
        for key, loss in self.losses.items():
            taken[key[0]][key] = loss
        self.losses.clear()
        return taken

    def add_all(self, losses: Losses) -> None:
        for (cluster, kind, reason), loss in losses.items():
            self.add_loss(cluster, kind, reason, loss)


def events_of(losses: Losses) -> list[Event]:
    events = []
    for (cluster, kind, reason), loss in losses.items():
        detail = dropped_detail(kind, loss.count, reason, loss.first, loss.last)
        logger.error("cluster %d: %s", cluster, detail["message"])
        events.append(Event(loss.first, RECORDS_DROPPED, "", detail))
    return events


def times_of(batch: BatchBuilder) -> dict[str, list[float]]:
    """The times of a batch's records by kind. Reports of other drops are left out."""
    return {
        "sample": list(batch.samples.times),
        "span": batch.spans.stops,
        "event": [event.time for event in batch.events if event.kind != RECORDS_DROPPED],
        "worker": [seen.time for seen in batch.workers] + [gone.time for gone in batch.gone],
    }
