"""Runs that something stopped from outside."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from observatory.clusters.end_reasons import MISSED, TARGET_DELETED, TARGET_PAUSED
from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.runs.models import Run
from observatory.store.connection import connect, read_connection
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.times import from_seconds
from observatory.wire.client_code.runs import CLIENT_LEFT, SCHEDULER_CLOSED
from observatory.wire.event_kinds import AGENT_SILENT, AGENT_STARTED, CLIENT_DESCRIBED
from observatory.wire.records import Event
from tests.support.recorded_cluster import START
from tests.why.findings.simulated import Simulated, found_in, futures

pytestmark = pytest.mark.django_db(transaction=True)

STOP = 9.5
RUNNING = 900
WORKER = "tcp://10.0.0.0:4000"
RUN, OTHER_RUN = UUID(int=1), UUID(int=2)
SCHEDULER, ELSEWHERE = 77, 78
"""ids of processes"""


def stopped(
    outcome: Run.Outcome,
    exception: str = "",
    computed: int = 36,
    pid: int = SCHEDULER,
    other: int = ELSEWHERE,
    is_stock: bool = False,
) -> Scope:
    """A run of which two tasks computed and 22 waited when it was stopped. `is_stock`: without an agent.

    `pid`: of its client's process. `other`: of that of a client that opened another run afterwards.
    """
    simulated = Simulated(futures(computed, 1.0), workers=2, threads=2)
    running_since = simulated.makespan
    for number in range(RUNNING, RUNNING + 24):
        key = f"work-{number}"
        simulated.transitions.append((START + 0.1, key, "released", "waiting", "", "made-up"))
        simulated.transitions.append((START + 0.2, key, "waiting", "queued", "", "made-up"))
        if number < RUNNING + 2:
            begun = START + running_since + number / 1e6
            simulated.transitions.append((begun, key, "queued", "processing", WORKER, "made-up"))
    simulated.events += [
        Event(START, AGENT_STARTED, "", {"pid": SCHEDULER}),
        Event(START, CLIENT_DESCRIBED, "", {"pid": pid, "run": RUN.hex, "client": "Client-1"}),
        Event(START + 1, CLIENT_DESCRIBED, "", {"pid": other, "run": OTHER_RUN.hex, "client": "Client-2"}),
    ]
    simulated.sample("observatory_scheduler_memory_bytes", 2**30, 0, STOP)
    simulated.makespan = STOP
    if is_stock:
        simulated.transitions.clear()
    cluster = simulated.record()
    Cluster.objects.filter(pk=cluster.pk).update(
        ended=from_seconds(START + STOP), end_reason="its end was not seen: its agent stopped sending"
    )
    run = Run.objects.create(
        cluster=cluster,
        name="nightly",
        origin="code",
        code_id=RUN,
        outcome=outcome,
        start=from_seconds(START),
        stop=from_seconds(START + STOP),
        tags={"exception": exception} if exception else {},
    )
    window = {"start": round(START * 1e6), "stop": round((START + STOP) * 1e6)}
    return replace(Scope(Cluster.objects.get(pk=cluster.pk)), run=run.pk, **window)


def with_agent(scope: Scope) -> Scope:
    with connect() as connection:
        connection.execute(
            """INSERT INTO agent (id, cluster_id, sequence, since, last, is_joint)
               VALUES (gen_random_uuid(), %s, 1, to_timestamp(%s), now(), false)""",
            [scope.cluster.pk, START],
        )
    return scope


def found(scope: Scope) -> list[dict[str, Any]]:
    with read_connection() as connection:
        return found_in(connection, scope)


@pytest.mark.parametrize(
    ("outcome", "exception", "sentence"),
    [
        (Run.Outcome.LOST, "", "The scheduler of the run ended without closing"),
        (Run.Outcome.ERRED, SCHEDULER_CLOSED, "The scheduler of the run closed"),
        (Run.Outcome.ERRED, "SIGTERM", "The process of the run's scheduler got SIGTERM"),
        (Run.Outcome.ERRED, CLIENT_LEFT, "The client of the run went away"),
    ],
)
def test_what_stopped_a_run_comes_first_with_the_tasks_that_were_not_done(
    outcome: Run.Outcome, exception: str, sentence: str
) -> None:
    first, *others = found(with_agent(stopped(outcome, exception)))
    assert first["kind"] == "run-stopped"
    assert first["sentence"] == f"{sentence} 9.50 s after the run began: 24 tasks were not done."
    assert first["moments"] == [{"label": "it was stopped", "time": START + STOP}]
    assert {"label": "memory of the scheduler, last", "value": "1.00 GiB"} in first["facts"]
    assert "unfinished" not in [one["kind"] for one in others], "they ran no longer than others had"


@pytest.mark.parametrize(
    ("pid", "other", "scheduler"),
    [
        (SCHEDULER, ELSEWHERE, "The scheduler, in the process of the run's code,"),
        (ELSEWHERE, SCHEDULER, "The scheduler of the run"),
    ],
)
def test_the_client_of_the_run_tells_whether_the_scheduler_is_in_the_process_of_its_code(
    pid: int, other: int, scheduler: str
) -> None:
    scope = with_agent(stopped(Run.Outcome.LOST, pid=pid, other=other))
    scope.cluster.address = "tcp://127.0.0.1:8786"
    first, *_ = found(scope)
    assert first["sentence"].startswith(f"{scheduler} ended without closing")
    assert ("one process" in [fact["value"] for fact in first["facts"]]) == (pid == SCHEDULER)


def test_of_a_cluster_with_several_clients_it_is_not_said_that_one_of_them_has_its_scheduler() -> None:
    scope = with_agent(stopped(Run.Outcome.LOST))
    scope.cluster.address = "tcp://127.0.0.1:8786"
    first, *_ = found(Scope(scope.cluster))
    assert first["sentence"].startswith("The scheduler of the cluster ended without closing")


def test_without_an_agent_a_scheduler_that_went_away_may_have_been_closed() -> None:
    first, *_ = found(stopped(Run.Outcome.LOST, is_stock=True))
    assert first["sentence"].startswith("The scheduler of the run went away 9.50 s after the run began")
    assert "one that was closed looks the same" in first["advice"]


@pytest.mark.parametrize("reason", [TARGET_PAUSED, TARGET_DELETED, MISSED])
def test_of_a_cluster_whose_recording_ended_nothing_is_said_to_have_stopped_it(reason: str) -> None:
    scope = with_agent(stopped(Run.Outcome.UNSEEN, computed=8))
    Cluster.objects.filter(pk=scope.cluster.pk).update(end_reason=reason)
    cluster = Cluster.objects.get(pk=scope.cluster.pk)
    for window in (replace(scope, cluster=cluster), Scope(cluster)):
        kinds = [one["kind"] for one in found(window)]
        assert "run-stopped" not in kinds


def test_a_task_that_hung_before_the_run_was_stopped_is_told_as_well() -> None:
    kinds = [one["kind"] for one in found(stopped(Run.Outcome.LOST, computed=8))]
    assert kinds[0] == "run-stopped"
    assert "unfinished" in kinds


@pytest.mark.parametrize("exception", ["ValueError", "SIGNAL", ""])
def test_a_run_that_its_own_code_ended_was_not_stopped(exception: str) -> None:
    assert "run-stopped" not in [one["kind"] for one in found(stopped(Run.Outcome.ERRED, exception))]


def test_a_run_that_goes_on_was_not_stopped() -> None:
    assert "run-stopped" not in [one["kind"] for one in found(stopped(Run.Outcome.RUNNING))]


def test_a_cluster_that_was_lost_with_work_to_do_says_so_and_one_that_closed_does_not() -> None:
    scope = with_agent(stopped(Run.Outcome.LOST))
    [first, *_] = found(Scope(scope.cluster))
    assert first["sentence"] == (
        "The scheduler of the cluster ended without closing 10.5 s after the cluster began: "
        "24 tasks were not done."
    )
    Cluster.objects.filter(pk=scope.cluster.pk).update(end_reason="the scheduler closed")
    closed = Cluster.objects.get(pk=scope.cluster.pk)
    assert "run-stopped" not in [one["kind"] for one in found(Scope(closed))]


@pytest.mark.parametrize("is_ended", [True, False])
def test_tasks_are_not_taken_to_run_on_while_the_scheduler_is_not_heard(is_ended: bool) -> None:
    cluster = with_agent(stopped(Run.Outcome.RUNNING)).cluster
    last = from_seconds(START + STOP)
    silent = {"agent_silent": last, "last_seen": last, "ended": last if is_ended else None}
    Cluster.objects.filter(pk=cluster.pk).update(**silent)
    with Writer() as writer:
        later = Event(START + STOP + 68, AGENT_SILENT, "", {"message": "nothing was heard"})
        writer.write(Batch.of(cluster.pk, events=[later], committed=START + STOP + 68))
    kinds = [one["kind"] for one in found(Scope(Cluster.objects.get(pk=cluster.pk)))]
    assert "unfinished" not in kinds
