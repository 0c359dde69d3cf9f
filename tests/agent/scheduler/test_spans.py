"""Spans on the scheduler's clock. A worker's clock that is an hour off is told by Dask's measured delay."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest

from observatory.agent.delivery.buffer import Buffer
from observatory.agent.scheduler.spans import Spans
from observatory.wire.records import Action

WORKER = "tcp://10.0.0.1:4000"
HOUR = 3600.0


def recorded(delay: float, *spans: tuple[str, float, float], age: float = 60) -> dict[str, list[Any]]:
    """The rows of a task's spans (action, start, stop: seconds ago), of a cluster `age` seconds old."""
    now = time.time()
    scheduler: Any = SimpleNamespace(workers={WORKER: SimpleNamespace(time_delay=delay)})
    buffer = Buffer()
    recorder = Spans(scheduler, buffer, now - age)
    startstops = [{"action": name, "start": now - start, "stop": now - stop} for name, start, stop in spans]
    recorder.record("inc-1", 0, {"worker": WORKER, "thread": 1, "startstops": startstops})
    recorder.report(now)
    rows = buffer.drain()
    rows["span"] = [(Action(row[3]), now - row[4], now - row[5]) for row in rows.get("span", [])]
    return rows


@pytest.mark.parametrize("delay", [HOUR, -HOUR])
def test_disk_spans_of_a_worker_with_another_clock_are_corrected_as_dask_corrects_the_others(
    delay: float,
) -> None:
    rows = recorded(
        delay,
        ("disk-read", 10 + delay, 9 + delay),
        ("compute", 9, 5),
        ("disk-write", 5 + delay, 4 + delay),
    )
    actions = [action for action, *_ in rows["span"]]
    assert actions == [Action.DISK_READ, Action.COMPUTE, Action.DISK_WRITE]
    times = [time for _, *times in rows["span"] for time in times]
    assert times == pytest.approx([10, 9, 9, 5, 5, 4], abs=1e-3)
    assert "event" not in rows


def test_the_latency_of_a_heartbeat_is_not_taken_for_another_clock() -> None:
    rows = recorded(4.0, ("disk-write", 5, 4))
    assert rows["span"] == [(Action.DISK_WRITE, pytest.approx(5, abs=1e-3), pytest.approx(4, abs=1e-3))]


def test_spans_outside_of_their_workers_life_are_counted_and_told_once() -> None:
    rows = recorded(0.0, ("compute", 9, 5), ("disk-write", 5 + HOUR, 4 + HOUR), ("disk-write", -HOUR, -HOUR))
    assert [action for action, *_ in rows["span"]] == [Action.COMPUTE]
    [(_, kind, worker, detail)] = rows["event"]
    reported = json.loads(detail)
    assert (kind, worker, reported["count"], reported["kind"]) == ("records-dropped", "", 2, "span")
    assert "clock" in reported["message"]


def test_no_span_ends_after_the_scheduler_heard_of_it() -> None:
    rows = recorded(0.0, ("transfer", 2, 1), ("compute", 1, -10), ("disk-write", 1, -9))
    assert "event" not in rows
    (_, sent, received), (_, began, ended), (_, first, last) = rows["span"]
    assert ended == pytest.approx(last) == pytest.approx(0, abs=5)
    assert began - ended == pytest.approx(11, abs=1e-3)
    assert (sent, received) == pytest.approx((2, 1), abs=1e-3), "as in the worker's log of transfers"
    assert first - last == pytest.approx(10, abs=1e-3)


def test_spans_that_ended_in_time_are_as_their_worker_told() -> None:
    rows = recorded(0.0, ("transfer", 3, 2), ("compute", 2, 1))
    assert [times for _, *times in rows["span"]] == [pytest.approx([3, 2]), pytest.approx([2, 1])]
