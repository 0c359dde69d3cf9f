"""What happens to a worker takes as long in a cluster of many workers as in one of few."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from observatory.clusters.models import Cluster
from observatory.collect.collector.clusters.observation import Observation
from observatory.collect.collector.clusters.series_limit import SeriesLimit
from observatory.collect.collector.counters import Counters
from observatory.collect.collector.writing.outbox import Outbox
from observatory.collect.scheduler.clock import SchedulerClock
from observatory.collect.scheduler.erred_tasks import ErredTaskCount
from observatory.collect.scheduler.identity import Counts, Heartbeat, Identity, WorkerIdentity
from observatory.store.times import from_seconds
from observatory.wire.records import Series, WorkerGone

FEW, MANY = 10, 200
METRICS = 20
COUNTS = Counts({})


def lines_executed(function: Callable[[], object]) -> int:
    """How many lines of Observatory's code a call executes, each as often as it does."""
    executed = 0

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal executed
        executed += event == "line"
        return line

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        return line if "/observatory/" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        function()
    finally:
        sys.settrace(before)
    return executed


def identity(workers: int, port: int, now: float) -> Identity:
    """The scheduler's list: workers that have one port each keep their names and nannies with another."""
    listed = {}
    for number in range(workers):
        address = f"tcp://10.0.{number}.1:{port}"
        heartbeat = Heartbeat(now, {"managed": 1.0})
        listed[address] = WorkerIdentity(
            *(
                address,
                f"w{number}",
                "h",
                2,
                0,
                "running",
                f"tcp://10.0.{number}.1:1",
                f"/tmp/{port}",
                1,
                now,
            ),
            heartbeat=heartbeat,
        )
    return Identity("Scheduler-1", "", now - 60, 2 * workers, listed)


def observe(workers: int) -> Observation:
    now = time.time()
    cluster = Cluster(pk=1, scheduler_id="Scheduler-1", started=from_seconds(now - 60))
    outbox = Outbox(Counters())
    outbox.open(1)
    limit = SeriesLimit(workers * METRICS, [])
    observation = Observation(cluster, outbox, SchedulerClock(), limit, ErredTaskCount())
    observation.add_poll(identity(workers, 4000, now), COUNTS, time.monotonic(), now)
    for address in list(observation.membership.members):
        for metric in range(METRICS):
            observation.sample(Series(f"metric_{metric}", worker=address), now, 1.0)
    return observation


def ended(observation: Observation) -> None:
    observation.membership.end(time.time())


def restarted(observation: Observation) -> None:
    """All workers come back at other addresses."""
    now = time.time()
    after = identity(len(observation.membership.members), 5000, now)
    observation.add_poll(after, COUNTS, time.monotonic() + 1, now)


def replaced(observation: Observation) -> None:
    """All workers leave; then all come back at other addresses. The scheduler's log says nothing."""
    now = time.time()
    after = identity(len(observation.membership.members), 5000, now)
    for address in list(observation.membership.members):
        observation.membership.left(address, now)
    observation.add_poll(after, COUNTS, time.monotonic() + 1, now)
    observation.membership.explain({}, time.monotonic() + 1)


@pytest.mark.parametrize("happens", [ended, restarted, replaced])
def test_each_worker_takes_the_same_in_a_large_cluster(happens: Callable[[Observation], None]) -> None:
    few, many = observe(FEW), observe(MANY)
    of_few, of_many = (lines_executed(lambda: happens(each)) for each in (few, many))  # noqa: B023
    assert of_many < 1.3 * MANY / FEW * of_few
    for observation, workers in ((few, FEW), (many, MANY)):
        [queued] = observation.outbox.batches
        gone = queued.builder.gone
        expected = 0 if happens is restarted else workers
        assert len([each for each in gone if isinstance(each, WorkerGone)]) == expected


def test_a_series_that_was_forgotten_is_admitted_again() -> None:
    observation = observe(FEW)
    [address, *_] = observation.membership.members
    limit = observation.series_limit
    before = limit.count
    assert before >= limit.limit
    assert not limit.admits(Series("another"))
    observation.forget(address)
    assert limit.count <= before - METRICS
    assert limit.admits(Series("another"))
