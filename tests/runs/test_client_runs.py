"""Runs that were opened from code: what clients told of them becomes a run, whichever way it comes."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from observatory.clusters.models import Cluster, Project
from observatory.runs import tasks
from observatory.runs.models import Run
from observatory.runs.refresh import refresh_figures
from observatory.runs.tasks import find_runs
from observatory.store import client_runs
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.times import from_seconds
from observatory.wire.records import ClientRun
from tests.runs.conftest import Work


@pytest.fixture
def id() -> UUID:
    return uuid4()


def answer(id: UUID, start: float, time: float | None = None, **changes: Any) -> ClientRun:
    usual: dict[str, Any] = {
        "outcome": "running" if time is None else "finished",
        "name": "nightly etl",
        "tags": {"git": "3f2a1c"},
        "user": "ada",
        "code": "with observatory.run():",
        "exception_type": "",
    }
    return ClientRun(id, start if time is None else time, start, **{**usual, **changes})


def tell(writer: Writer, cluster: Cluster, *runs: ClientRun) -> None:
    writer.write(Batch.of(cluster.pk, runs=list(runs)))
    find_runs()


def test_a_run_is_there_from_its_start_on_and_ends_when_its_client_says_so(
    cluster: Cluster, writer: Writer, work: Work, now: float, id: UUID
) -> None:
    tell(writer, cluster, answer(id, now))
    run = cluster.runs.get()
    assert (run.origin, run.name, run.tags, run.user) == ("code", "nightly etl", {"git": "3f2a1c"}, "ada")
    assert (run.code, run.code_id, run.stop, run.outcome) == ("with observatory.run():", id, None, "running")
    work(now, now + 5)
    tell(writer, cluster, answer(id, now, now + 6))
    run = cluster.runs.get()
    assert run.stop == from_seconds(now + 6)
    assert (run.outcome, run.tasks) == ("finished", 5)


def test_the_last_task_and_its_error_belong_to_it_though_the_client_ended_it_a_moment_before(
    cluster: Cluster, writer: Writer, make: Any, now: float, id: UUID
) -> None:
    error = (now + 6.05, "('inc-0a1b', 0)", "", "erred", "ValueError", "no", "", 0, [], 0)
    own = make.span(now + 1, stop=now + 6.002)
    later = make.span(now + 6.1, key="('inc-0a1b', 1)", stop=now + 6.3)
    another = (now + 6.3, "('inc-0a1b', 1)", "", "erred", "ValueError", "no", "", 0, [], 0)
    writer.write(Batch.of(cluster.pk, spans=[own, later], rows={"error": [error, another]}))
    tell(writer, cluster, answer(id, now, now + 6))
    run = cluster.runs.get(origin="code")
    assert run.stop is not None
    assert run.stop.timestamp() - now == pytest.approx(6.05, abs=1e-5)
    assert (run.outcome, run.tasks, run.errors) == ("erred", 1, 1)


@pytest.mark.parametrize(("delay", "end"), [(0.004, 6.005), (0.3, 6.001)])
def test_a_line_that_a_task_logs_some_milliseconds_after_the_runs_end_belongs_to_it(
    cluster: Cluster, writer: Writer, make: Any, now: float, id: UUID, delay: float, end: float
) -> None:
    lines = [
        (now + 6.001 + delay, "worker", make.address, 30, "etl", "the last words", "", 1),
        (now + 6.003, "scheduler", "", 30, "etl", "of nobody's task", "", 1),
    ]
    span = make.span(now + 1, stop=now + 6.001)
    writer.write(Batch.of(cluster.pk, workers=[make.worker(now)], spans=[span], rows={"log": lines}))
    tell(writer, cluster, answer(id, now, now + 6))
    stop = cluster.runs.get(origin="code").stop
    assert stop is not None
    assert stop.timestamp() - now == pytest.approx(end, abs=1e-5)


def test_it_ends_before_the_next_run_even_if_one_of_its_tasks_does_not(
    cluster: Cluster, writer: Writer, make: Any, now: float, id: UUID
) -> None:
    writer.write(Batch.of(cluster.pk, spans=[make.span(now + 1, stop=now + 6.5)]))
    tell(writer, cluster, answer(id, now, now + 6), answer(uuid4(), now + 6.1, now + 9))
    stop = cluster.runs.get(code_id=id).stop
    assert stop == from_seconds(now + 6)


def test_what_arrives_soon_after_its_end_is_counted_too(
    cluster: Cluster, writer: Writer, make: Any, now: float, id: UUID
) -> None:
    tell(writer, cluster, answer(id, now, now + 6))
    Run.objects.update(counted=from_seconds(now + 7))
    assert cluster.runs.get().tasks == 0
    writer.write(Batch.of(cluster.pk, spans=[make.span(now + 1, stop=now + 6.002)]))
    find_runs()
    assert cluster.runs.get().tasks == 1


def test_told_twice_or_the_wrong_way_round_it_is_the_same_run(
    cluster: Cluster, writer: Writer, now: float, id: UUID
) -> None:
    for order in ([answer(id, now, now + 6), answer(id, now)], [answer(id, now), answer(id, now, now + 6)]):
        tell(writer, cluster, *order)
        run = cluster.runs.get()
        assert (run.start.timestamp(), run.stop and run.stop.timestamp()) == (now, now + 6)
        assert run.outcome == "finished"


def test_what_somebody_made_of_it_since_stays(cluster: Cluster, writer: Writer, now: float, id: UUID) -> None:
    tell(writer, cluster, answer(id, now))
    Run.objects.update(name="the great one", tags={"team": "data"}, pinned=True)
    tell(writer, cluster, answer(id, now), answer(id, now, now + 6))
    run = cluster.runs.get()
    assert (run.name, run.tags, run.pinned) == ("the great one", {"team": "data"}, True)


def test_an_exception_marks_it(cluster: Cluster, writer: Writer, now: float, id: UUID) -> None:
    tell(writer, cluster, answer(id, now, now + 6, outcome="erred", exception_type="KeyError"))
    run = cluster.runs.get()
    assert (run.outcome, run.tags) == ("erred", {"git": "3f2a1c", "exception": "KeyError"})


@pytest.mark.parametrize(
    ("reason", "outcome"), [("the scheduler closed", "finished"), ("its agent fell silent", "lost")]
)
def test_one_that_nobody_ended_ends_with_its_cluster(
    cluster: Cluster, writer: Writer, now: float, id: UUID, reason: str, outcome: str
) -> None:
    tell(writer, cluster, answer(id, now))
    ended = from_seconds(now + 9)
    Cluster.objects.update(ended=ended, end_reason=reason)
    find_runs()
    run = cluster.runs.get()
    assert (run.stop, run.outcome) == (ended, outcome)
    # it was only late
    tell(writer, cluster, answer(id, now, now + 6))
    assert cluster.runs.get().outcome == "finished"


def test_what_was_found_in_its_time_before_it_was_told_of_goes_unless_somebody_touched_it(
    cluster: Cluster, writer: Writer, work: Work, now: float, id: UUID
) -> None:
    work(now + 1, now + 3)
    work(now + 20, now + 22, until=now + 40)
    find_runs()
    first = cluster.runs.earliest("start")
    first.pinned = True
    first.save()
    tell(writer, cluster, answer(id, now, now + 40))
    assert [run.origin for run in cluster.runs.order_by("start")] == ["code", "found"]
    assert cluster.runs.get(origin="found").pk == first.pk


def test_a_run_of_a_time_that_cannot_be_is_refused_and_counted(
    cluster: Cluster, writer: Writer, now: float, id: UUID
) -> None:
    committed = writer.write(Batch.of(cluster.pk, runs=[answer(id, 5.0), answer(id, now + 10 * 86_400)]))
    assert committed.refused == 2
    find_runs()
    assert not cluster.runs.exists()


def test_thousands_of_a_cluster_are_applied_in_parts(
    cluster: Cluster, writer: Writer, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One transaction of all of them would keep the runs of others waiting."""
    monkeypatch.setattr(client_runs, "MOST_TAKEN", 2)
    ids = [uuid4() for _ in range(5)]
    tell(writer, cluster, *(answer(each, now + number) for number, each in enumerate(ids)))
    assert list(cluster.runs.order_by("start").values_list("code_id", flat=True)) == ids[:2]
    find_runs()
    find_runs()
    assert list(cluster.runs.order_by("start").values_list("code_id", flat=True)) == ids


def test_the_runs_of_projects_are_counted_in_turn_and_those_that_ended_meanwhile_soon(
    cluster: Cluster, writer: Writer, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Project.objects.create(name="Other", slug="other")
    times = {"started": from_seconds(now), "last_seen": from_seconds(now)}
    theirs = Cluster.objects.create(project=other, scheduler_id="Scheduler-other", **times)
    passed = 0.0

    def counted(run: Run) -> None:
        nonlocal passed
        passed += tasks.ROUND / 2
        refresh_figures(run)

    monkeypatch.setattr(tasks, "monotonic", lambda: passed)
    monkeypatch.setattr(tasks, "refresh_figures", counted)
    writer.write(Batch.of(cluster.pk, runs=[answer(uuid4(), now, now + 1) for _ in range(5)]))
    writer.write(Batch.of(theirs.pk, runs=[answer(uuid4(), now, now + 1)]))
    find_runs()
    uncounted = Run.objects.filter(counted=None)
    assert list(uncounted.values_list("cluster", flat=True)) == [cluster.pk] * 4
    find_runs()
    find_runs()
    assert not uncounted.exists()
