"""Clocks of workers that differ: what is recorded, and how often."""

from __future__ import annotations

from types import SimpleNamespace

from observatory.agent.delivery.buffer import Buffer
from observatory.agent.scheduler.clocks import HEARTBEATS, Clocks

WORKER = "tcp://10.0.0.1:4000"


def recorded(*delays: float) -> list[str]:
    """What is recorded of heartbeats that seem to be `delays` seconds old."""
    buffer = Buffer()
    clocks = Clocks(buffer)
    for delay in delays:
        clocks.look(WORKER, SimpleNamespace(time_delay=delay))
    return [str(row[3]) for row in buffer.drain().get("event", ())]


def test_the_least_of_several_heartbeats_counts_because_the_others_were_late() -> None:
    assert recorded(*[0.3, 4.0, 0.2, 0.001, 0.9]) == []
    [text] = recorded(*[1.3, 4.0, 1.25, 1.9, 1.4])
    assert "the worker's clock is 1.250 s behind the scheduler's" in text


def test_a_difference_is_recorded_once_until_it_changes() -> None:
    same, other = [-0.5] * HEARTBEATS, [-0.9] * HEARTBEATS
    assert len(recorded(*same, *same, *same)) == 1
    assert len(recorded(*same, *other, *other)) == 2
    assert "ahead of" in recorded(*same)[0]


def test_fewer_heartbeats_and_those_without_a_time_tell_nothing() -> None:
    assert recorded(*[0.5] * (HEARTBEATS - 1)) == recorded(*[0] * HEARTBEATS) == []
