"""Spans on the scheduler's clock. A worker's clock that is an hour off is told by Dask's measured delay."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from dask import delayed
from distributed import Client, secede, wait

from observatory.agent.delivery.buffer import Buffer
from observatory.agent.scheduler.long_running import LongRunning
from observatory.agent.scheduler.spans import Spans
from observatory.wire.records import Action
from tests.agent.eventually import eventually
from tests.agent.fake_server import FakeServer

WORKER = "tcp://10.0.0.1:4000"
HOUR = 3600.0


def recorded(
    delay: float, *spans: tuple[str, float, float], age: float = 60, seceded: tuple[str, float] = ("", 0.0)
) -> dict[str, list[Any]]:
    """The rows of a task's spans (action, start, stop: seconds ago), of a cluster `age` seconds old.

    `seceded`: on which worker, and after how many seconds.
    """
    now = time.time()
    workers = {WORKER: SimpleNamespace(time_delay=delay)}
    handlers = {"long-running": lambda **message: None}
    scheduler: Any = SimpleNamespace(workers=workers, stream_handlers=handlers)
    buffer = Buffer()
    long_running = LongRunning(scheduler)
    long_running.install()
    scheduler.stream_handlers["long-running"](
        key="inc-1", worker=seceded[0], run_id=1, compute_duration=seceded[1], stimulus_id=""
    )
    recorder = Spans(scheduler, buffer, now - age, long_running)
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


def test_a_task_that_its_worker_computes_once_more_has_the_spans_of_that_time_alone() -> None:
    """Dask's worker keeps those of before where other tasks need the task: they were reported then."""
    rows = recorded(0.0, ("disk-read", 9.5, 9), ("compute", 9, 8), ("disk-read", 5, 4), ("compute", 4, 2))
    assert [action for action, *_ in rows["span"]] == [Action.DISK_READ, Action.COMPUTE]
    assert [time for _, *times in rows["span"] for time in times] == pytest.approx([5, 4, 4, 2], abs=1e-3)


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


def test_a_task_that_seceded_ran_on_outside_of_the_pool() -> None:
    rows = recorded(0.0, ("transfer", 9, 8), ("compute", 8, 2), seceded=(WORKER, 1.5))
    assert rows["span"] == [
        (Action.TRANSFER, pytest.approx(9), pytest.approx(8)),
        (Action.COMPUTE, pytest.approx(8), pytest.approx(6.5)),
        (Action.LONG_RUNNING, pytest.approx(6.5), pytest.approx(2)),
    ]


@pytest.mark.parametrize("seceded", [("tcp://10.0.0.2:4000", 1.5), (WORKER, 6.0), (WORKER, 7.0)])
def test_what_seceded_elsewhere_or_at_its_end_computed_as_others_do(seceded: tuple[str, float]) -> None:
    rows = recorded(0.0, ("compute", 8, 2), seceded=seceded)
    assert rows["span"] == [(Action.COMPUTE, pytest.approx(8), pytest.approx(2))]


def test_the_rest_of_a_task_that_seceded_is_a_span_of_its_own(client: Client, received: FakeServer) -> None:
    """Also where it fails, and not that of the same key which runs again without it."""
    wait(client.submit(run_on, 0.5, True, key="seceded"))
    wait(client.submit(run_on, 0.5, True, "failed", key="failed"))

    def spans(key: str) -> list[tuple[Action, float]]:
        rows = [row for row in received.rows["span"] if row["key"] == key]
        return [(Action(row["action"]), row["stop"] - row["start"]) for row in rows]

    for key in ("seceded", "failed"):
        eventually(lambda key=key: len(spans(key)) == 2)
        (first, inside), (second, outside) = spans(key)
        assert (first, second) == (Action.COMPUTE, Action.LONG_RUNNING)
        assert inside >= 0, "a loaded machine may take long until it secedes"
        assert outside >= 0.4, "it sleeps for half a second: the scheduler hears of both ends a little late"
    wait(client.submit(run_on, 0.5, False, key="again"))
    eventually(lambda: [action for action, _ in spans("again")] == [Action.COMPUTE])


def test_what_a_worker_computes_again_is_reported_once_each_time(
    client: Client, received: FakeServer
) -> None:
    """Three results of the same four parts, none of which is kept between them."""
    questions: list[Callable[..., Any]] = [sum, max, min]
    for question in questions:
        parts = [delayed(int)(number, dask_key_name=f"read-{number}") for number in range(4)]
        client.compute(delayed(question)(parts, dask_key_name=question.__name__)).result()

    def starts(prefix: str) -> list[tuple[str, float]]:
        rows = [row for row in received.rows["span"] if row["key"].startswith(prefix)]
        return [(row["key"], row["start"]) for row in rows if row["action"] == Action.COMPUTE]

    eventually(lambda: len(starts("min")) == 1)
    assert len(starts("read")) == len(set(starts("read"))) == 12


def run_on(seconds: float, secedes: bool, fails: str = "") -> None:
    if secedes:
        secede()
    time.sleep(seconds)
    if fails:
        raise ValueError(fails)
