"""What people do on purpose with workers is no cause: restarts, and workers that are retired."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from observatory.wire.records import Event, WorkerGone
from tests.support.recorded_cluster import START
from tests.why.findings.kinds.test_kinds_of_parts import findings_of_run
from tests.why.findings.simulated import Death, Simulated, futures, map_reduce

pytestmark = pytest.mark.django_db(transaction=True)


def planned(simulated: Simulated, reason: str) -> Simulated:
    """What was lost left in order."""
    simulated.gone[:] = [WorkerGone(one.address, one.time, reason) for one in simulated.gone]
    return simulated


@pytest.mark.parametrize("at", [4.4, 10.4])
def test_a_worker_that_a_client_restarted_did_not_die_whatever_is_computed_again(at: float) -> None:
    simulated = planned(Simulated(map_reduce(64, 1.0), deaths=[Death(2, at, restarts_after=2.5)]), "removed")
    assert any(span.stop < START + at for span in simulated.spans)
    assert [one["sentence"] for one in simulated.findings()] == []


def test_all_workers_that_restart_at_once_between_two_computations_are_no_cause() -> None:
    deaths = [Death(number, 4.2, restarts_after=2.0) for number in range(4)]
    simulated = planned(Simulated(futures(64, 0.5)).then(futures(64, 0.5, "more")), "removed")
    again = planned(Simulated(futures(64, 0.5), deaths=deaths), "removed")
    assert simulated.findings() == []
    again.events.append(Event(START + 4.2, "restarted", "", {}))
    assert {"worker-died", "long-restart"}.isdisjoint(one["kind"] for one in again.findings())


def test_a_worker_that_is_retired_for_the_last_tasks_is_no_cause() -> None:
    assert Simulated(futures(160, 0.5), leaves={3: 8.6}).findings() == []


def test_a_stage_in_which_nothing_computed_is_no_narrow_one() -> None:
    """As where all waited for a task that was lost with its worker."""
    seeded = Simulated(futures(16, 0.5))
    seeded.transitions += [
        (START + 2.0, "stuck-1", "released", "waiting", "", "made-up"),
        (START + 2.1, "stuck-1", "waiting", "processing", "tcp://10.0.0.1:4000", "made-up"),
        (START + 14.0, "stuck-1", "processing", "released", "", "made-up"),
    ]
    seeded.gone.append(WorkerGone("tcp://10.0.0.1:4000", START + 14.0, "lost"))
    seeded.makespan = 14.5
    assert [one["kind"] for one in seeded.findings()] == ["worker-died"]


def test_a_restart_of_all_workers_that_takes_most_of_a_run_is_what_takes_its_time_and_no_client() -> None:
    def run(restarts: bool) -> list[dict[str, Any]]:
        simulated = Simulated(futures(32, 0.5))
        simulated.gone += [WorkerGone(one.address, START + 2.3, "removed") for one in simulated.seen]
        simulated.seen += [replace(one, time=START + 10.3) for one in simulated.seen]
        simulated.makespan = 11.0
        simulated.sample("observatory_worker_cpu_percent", 2.0, 0, 12, worker=1)
        if restarts:
            simulated.events.append(Event(START + 2.2, "restarted", "", {}))
        return findings_of_run(simulated)

    assert [one["kind"] for one in run(restarts=False)] == ["client"]
    [found] = run(restarts=True)
    assert found["kind"] == "long-restart"
    # from then until all were back
    assert found["wall_seconds"] == pytest.approx(8.1, abs=0.2)
    assert "for 8.1" in found["sentence"]
