"""The scheduler's clock is estimated from Date headers of whole seconds."""

from __future__ import annotations

import math
import random
import time

import pytest

from observatory.collect.scheduler.clock import SchedulerClock
from observatory.collect.scheduler.identity import Heartbeat, Identity, WorkerIdentity
from observatory.collect.scheduler.worker_heartbeats import Heartbeats
from observatory.wire.records import Series


def poll(clock: SchedulerClock, offset: float, sent: float, delay: float = 0.01) -> None:
    """Adds an answer of a scheduler with a clock `offset` seconds ahead of ours."""
    clock.observe(sent, sent + 2 * delay, math.floor(sent + delay + offset))


@pytest.mark.parametrize("offset", [-7200.0, -3.3, 1.5, 86_400.25])
def test_an_offset_of_more_than_a_second_is_found_within_a_tenth(offset: float) -> None:
    clock, start = SchedulerClock(), 1_790_000_000.0
    chance = random.Random(1)
    for number in range(60):
        poll(clock, offset, start + number * (1 + chance.uniform(-0.05, 0.05)))
    assert abs(clock.offset - offset) < 0.1
    before, told, after = time.time(), clock.now(), time.time()
    assert before - 0.1 < told - offset < after + 0.1


def test_clocks_that_agree_are_not_corrected() -> None:
    clock = SchedulerClock()
    for number in range(60):
        poll(clock, 0.004, 1_790_000_000.0 + number * 0.97)
    assert clock.offset == 0.0


def test_the_arrival_of_a_heartbeat_is_a_bound_too() -> None:
    clock = SchedulerClock()
    poll(clock, 10.0, 1_790_000_000.0)
    clock.passed(1_790_000_000.0 + 10.5, 1_790_000_000.51)
    assert 9.9 < clock.offset < 10.6


def test_a_clock_that_was_set_is_followed() -> None:
    clock = SchedulerClock()
    for number in range(10):
        poll(clock, 0.0, 1_790_000_000.0 + number)
    poll(clock, 30.0, 1_790_000_020.0)
    assert abs(clock.offset - 30) < 1


def heartbeat(measured: float, arrived: float) -> Identity:
    values = {("observatory_worker_memory_bytes", "type", "process"): 5.0}
    worker = WorkerIdentity(
        "tcp://w:1", "w", "w", 1, 0, "running", "", "", 1, arrived, {}, Heartbeat(measured, values)
    )
    return Identity("Scheduler-1", "tcp://s:1", 1.0, 1, {worker.address: worker})


def test_a_heartbeat_is_a_sample_once_at_its_time_on_the_schedulers_clock() -> None:
    samples: list[tuple[Series, float, float]] = []
    heartbeats = Heartbeats(lambda *sample: samples.append(sample))
    ahead = 100.0  # the worker's clock
    for measured, arrived in ((10.0, 10.4), (11.0, 11.1), (11.0, 11.1), (12.0, 12.3)):
        heartbeats.add_identity(heartbeat(measured + ahead, arrived))
    times = [round(moment, 3) for _, moment, _ in samples]
    assert times == [10.4, 11.1, 12.1]
    assert len({id(series) for series, _, _ in samples}) == 1
