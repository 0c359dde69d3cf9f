"""Large graphs: what their sending and unpacking costs, and what they are large of."""

from __future__ import annotations

from typing import Any

import pytest

from observatory.wire.records import Event
from tests.support.recorded_cluster import START
from tests.why.findings.simulated import Simulated, futures

pytestmark = pytest.mark.django_db(transaction=True)


def submitted(seeded: Simulated, time: float, **size: Any) -> Simulated:
    detail = {"message": "a graph", "tasks": 16, **size}
    seeded.events.append(Event(START + time, "graph-updated", "", detail))
    return seeded


def after_a_pause(seconds: float, late: float = 0.0) -> Simulated:
    """Tasks that were submitted `seconds` after all others had ended, and began late."""
    before = Simulated(futures(16))
    seeded = Simulated(
        futures(16, prefix="later"),
        submitted=before.makespan + seconds,
        late=dict.fromkeys(range(4), late),
    )
    seeded.spans += before.spans
    seeded.transitions += before.transitions
    return seeded


def test_a_graph_with_large_objects_costs_until_its_tasks_are_there_and_have_begun() -> None:
    seeded, without = after_a_pause(6, late=0.5), after_a_pause(0)
    submitted(seeded, seeded.submitted, nbytes=500_000_000, seconds=1.0)
    [finding, *_] = seeded.findings()
    assert finding["kind"] == "large-graph"
    assert finding["wall_seconds"] == pytest.approx(seeded.makespan - without.makespan, rel=0.3)
    assert finding["sentence"].startswith("A graph of 476.8 MiB took 1.00 s to be unpacked by the scheduler.")
    assert "client.scatter" in finding["advice"]


def test_what_the_client_did_long_before_is_not_the_graphs() -> None:
    seeded = after_a_pause(60)
    submitted(seeded, seeded.submitted, nbytes=200_000_000, seconds=0.5)
    [finding] = seeded.findings()
    assert finding["wall_seconds"] == pytest.approx(2.5, rel=0.1)


def test_a_graph_costs_all_the_time_in_which_the_client_is_known_to_have_sent_it() -> None:
    """It packs large objects for longer than their bytes take on the way."""
    seeded, without = after_a_pause(8), after_a_pause(0)
    submitted(seeded, seeded.submitted, nbytes=50_000_000, seconds=0.1)
    began = seeded.submitted - 7.9
    seeded.activities = [
        (began, seeded.makespan, "", "code"),
        (began, seeded.submitted - 0.1, "", "sending"),
    ]
    [finding] = seeded.findings()
    assert finding["kind"] == "large-graph"
    assert finding["wall_seconds"] == pytest.approx(seeded.makespan - without.makespan, rel=0.1)


def test_a_graph_of_very_many_tasks_should_have_fewer() -> None:
    seeded = after_a_pause(6)
    submitted(seeded, seeded.submitted, tasks=400_000, nbytes=60_000_000, seconds=5.4)
    [finding] = seeded.findings()
    assert finding["kind"] == "large-graph"
    assert finding["advice"].startswith("Make fewer tasks")


@pytest.mark.parametrize(
    "size",
    [
        {"nbytes": 9_000_000, "seconds": 0.9},
        {},
        {"nbytes": "many", "seconds": "long"},
    ],
)
def test_a_small_graph_and_one_of_unknown_size_are_none(size: dict[str, Any]) -> None:
    assert submitted(Simulated(futures(80), submitted=0.5), 0.5, **size).findings() == []


def test_a_large_graph_that_nothing_waited_for_is_none() -> None:
    """It came while the cluster had other tasks."""
    busy = Simulated(futures(80)).then(futures(80, prefix="later"))
    assert submitted(busy, 2.0, nbytes=50_000_000, seconds=0.3).findings() == []
