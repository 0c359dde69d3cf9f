"""The findings that are kept of runs: which runs are looked at and when, and what is known of each."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.utils.timezone import now

from observatory.clusters.models import Cluster
from observatory.runs.models import Run, RunFindings
from observatory.store.connection import connect
from observatory.store.maintenance.advisory_lock import FINDINGS, try_lock
from observatory.why import kept, window
from observatory.why.findings import of_runs
from observatory.why.findings.of_runs import look_at_new_runs
from observatory.why.tasks import look_at_runs
from tests.support.recorded_cluster import at
from tests.why.findings.simulated import Death, Simulated, map_reduce

pytestmark = pytest.mark.django_db(transaction=True)
State = RunFindings.State
SECRET = "<img src=x onerror=alert(1)>"


@pytest.fixture
def cluster() -> Cluster:
    """Its first second is quiet. Then a worker died, and a task failed."""
    simulated = Simulated(map_reduce(64, 1.0), deaths=[Death(2, 10.4, restarts_after=4)])
    simulated.error(1, "load-3", "tcp://10.0.0.1:4000", "erred", "KeyError", SECRET)
    return simulated.record()


def make_run(cluster: Cluster, start: float = 0, stop: float = 20, **fields: Any) -> Run:
    known = {"name": "etl", "origin": Run.Origin.CODE, "tasks": 1, "counted": now(), **fields}
    return Run.objects.create(cluster=cluster, start=at(start), stop=at(stop), **known)


def state_of(run: Run) -> str | None:
    known = RunFindings.objects.filter(run=run).first()
    return known and known.state


def test_a_run_that_has_ended_is_looked_at_and_its_findings_are_kept(cluster: Cluster) -> None:
    run = make_run(cluster)
    assert run.known_findings is None
    look_at_runs()
    run = Run.objects.get(pk=run.pk)
    known = run.known_findings
    assert known is not None
    assert (known.state, known.kind, known.counted) == (State.FOUND, "failure", run.counted)
    assert known.sentence == f"1 task of load failed with KeyError: {SECRET}."
    assert [one["kind"] for one in known.all] == ["failure", "worker-died"]
    assert known.all[0]["prefixes"] == ["load"]
    assert known.all[1]["thread_seconds"] > 1
    assert look_at_new_runs() == 0, "it is looked at once"


def test_a_run_is_looked_at_again_when_its_figures_were_counted_again(cluster: Cluster) -> None:
    run = make_run(cluster)
    look_at_new_runs()
    Run.objects.filter(pk=run.pk).update(counted=now(), stop=at(0.5))
    assert look_at_new_runs() == 1
    assert state_of(run) == State.NONE
    assert RunFindings.objects.get(run=run).sentence == ""


def test_nothing_stands_out_in_a_run_differs_from_one_whose_records_are_deleted(cluster: Cluster) -> None:
    quiet, gone, empty = (
        make_run(cluster, 0, 0.5),
        make_run(cluster, -99, -98),
        make_run(cluster, -9, -8, tasks=0),
    )
    look_at_new_runs()
    assert [state_of(run) for run in (quiet, gone, empty)] == [State.NONE, State.GONE, State.NONE]


def test_a_run_with_too_many_tasks_is_known_to_be_too_large(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "MOST_SPANS", 5)
    monkeypatch.setattr(kept, "MOST_SPANS", 50)
    run = make_run(cluster)
    look_at_new_runs()
    assert state_of(run) == State.TOO_LARGE


def test_runs_wait_until_they_have_ended_and_their_last_records_are_counted(cluster: Cluster) -> None:
    last = now() - timedelta(seconds=5)
    uncounted = make_run(cluster, counted=None)
    running = make_run(cluster)
    recent = make_run(cluster)
    by_hand = make_run(cluster, origin=Run.Origin.CUT)
    Run.objects.filter(pk=running.pk).update(stop=None)
    Run.objects.filter(pk__in=[recent.pk, by_hand.pk]).update(start=last - timedelta(seconds=9), stop=last)
    assert look_at_new_runs() == 1, "figures of a run that was cut are counted once"
    assert [state_of(run) for run in (uncounted, running, recent)] == [None, None, None]
    assert state_of(by_hand) is not None


def test_the_newest_run_is_first_and_a_round_ends_after_its_time(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = make_run(cluster, 0, 1), make_run(cluster, 2, 3)
    monkeypatch.setattr(of_runs, "BUDGET", 0)
    assert look_at_new_runs() == 1
    assert (state_of(old), state_of(new)) == (None, State.NONE)
    assert look_at_new_runs() == 1
    assert state_of(old) == State.NONE


def test_one_process_looks_at_a_time(cluster: Cluster) -> None:
    run = make_run(cluster)
    with connect() as connection, try_lock(connection, 0, FINDINGS):
        assert look_at_new_runs() == 0
    assert state_of(run) is None


def test_a_run_that_fails_keeps_no_other_waiting(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    broken, other = make_run(cluster, 2, 3), make_run(cluster, 0, 0.5)
    look = of_runs._look

    def sometimes(connection: psycopg.Connection, run: Run) -> dict[str, Any]:
        if run.pk == broken.pk:
            raise ValueError("it is broken")
        return look(connection, run)

    monkeypatch.setattr(of_runs, "_look", sometimes)
    look_at_new_runs()
    assert (state_of(broken), state_of(other)) == (State.FAILED, State.NONE)
    assert look_at_new_runs() == 0


def test_a_run_that_ends_the_process_is_given_up(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(cluster)

    def die(connection: psycopg.Connection, run: Run) -> dict[str, Any]:
        raise SystemExit

    monkeypatch.setattr(of_runs, "_look", die)
    for _ in range(of_runs.MOST_ATTEMPTS):
        assert state_of(run) in (None, State.LOOKING)
        with pytest.raises(SystemExit):
            look_at_new_runs()
    assert look_at_new_runs() == 0
    assert state_of(run) == State.FAILED


def test_without_a_database_a_run_is_looked_at_later(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(cluster)

    def unavailable(connection: psycopg.Connection, run: Run) -> dict[str, Any]:
        raise psycopg.OperationalError("the connection is lost")

    with monkeypatch.context() as patch:
        patch.setattr(of_runs, "_look", unavailable)
        look_at_runs()
    assert look_at_new_runs() == 1
    assert state_of(run) == State.FOUND
