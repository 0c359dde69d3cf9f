"""What an observation makes of the records of the event stream."""

from __future__ import annotations

import time

from observatory.clusters.models import Cluster
from observatory.collect.collector.clusters.observation import Observation
from observatory.collect.collector.clusters.series_limit import SeriesLimit
from observatory.collect.collector.counters import Counters
from observatory.collect.collector.writing.outbox import Outbox
from observatory.collect.scheduler.clock import SchedulerClock
from observatory.collect.scheduler.erred_tasks import ErredTaskCount
from observatory.collect.scheduler.identity import Heartbeat, Identity, WorkerIdentity
from observatory.store.times import from_seconds
from observatory.wire.records import Action, Event, Span

WORKER = "tcp://10.0.0.1:4000"
HOUR = 3600.0


def observe(delay: float, *spans: tuple[Action, float]) -> tuple[list[tuple[Action, float]], list[Event]]:
    """The stored spans (action, start in seconds ago) and the events of a stock cluster of a minute.

    `delay`: how far the scheduler's clock is ahead of its worker's. `spans` take a second each.
    """
    now = time.time()
    cluster = Cluster(pk=1, scheduler_id="Scheduler-1", started=from_seconds(now - 60))
    outbox = Outbox(Counters())
    outbox.open(1)
    observation = Observation(cluster, outbox, SchedulerClock(), SeriesLimit(1000, []), ErredTaskCount())
    heartbeat = Heartbeat(now - delay, {})
    worker = WorkerIdentity(WORKER, "w0", "h", 2, 0, "", "", "", 1, now, heartbeat=heartbeat)
    identity = Identity("Scheduler-1", "", now - 60, 2, {WORKER: worker})
    counts = dict.fromkeys(COUNTS, 0)
    observation.add_poll(identity, counts, time.monotonic(), now)
    for action, start in spans:
        span = Span(WORKER, 1, "inc-1", "inc", "inc", action, now - start, now - start + 1)
        observation.add_streamed(span)
    observation.add_poll(identity, counts, time.monotonic(), now)
    [queued] = outbox.batches
    events = [event for event in queued.builder.events if event.kind == "records-dropped"]
    found = queued.builder.spans.records()
    pairs = zip(found.numbers("action").tolist(), found.times.tolist(), strict=True)
    return [(Action(action), round(now - start, 3)) for action, start in pairs], events


COUNTS = (
    *("waiting", "processing", "memory", "erred", "released", "unrunnable"),
    *("workers", "idle", "saturated", "cores", "clients", "tasks"),
)


def test_disk_spans_of_a_worker_with_another_clock_are_corrected_as_dask_corrects_the_others() -> None:
    spans, events = observe(HOUR, (Action.COMPUTE, 10), (Action.DISK_WRITE, 9 + HOUR))
    assert spans == [(Action.COMPUTE, 10), (Action.DISK_WRITE, 9)]
    assert events == []


def test_disk_spans_outside_of_their_clusters_life_are_counted_and_told() -> None:
    spans, [event] = observe(0, (Action.COMPUTE, 10), (Action.DISK_WRITE, HOUR), (Action.DISK_READ, -HOUR))
    assert spans == [(Action.COMPUTE, 10)]
    assert (event.detail["count"], event.detail["kind"]) == (2, "span")
    assert "clock" in event.detail["message"]
