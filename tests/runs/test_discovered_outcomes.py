"""With which outcome and which errors runs that come by themselves end."""

from __future__ import annotations

from typing import Any

import pytest

from observatory.clusters.end_reasons import AGENT_STOPPED, MISSED, TARGET_DELETED, TARGET_PAUSED
from observatory.clusters.models import Cluster, Target
from observatory.collect.collector.clusters.registry import end_abandoned
from observatory.comparison.card.drawing import drawn_card
from observatory.replay.cluster_info import cluster_info
from observatory.runs.models import Run
from observatory.runs.sharing.scopes import scope_of_run
from observatory.runs.tasks import find_runs
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.times import from_seconds
from observatory.wire.records import Event, Sample, Series
from tests.runs.conftest import Work
from tests.runs.discovered import PROCESSING, end, only, quiet, windows


def test_a_run_with_tasks_that_failed_says_so_but_not_for_an_attempt_that_another_followed(
    cluster: Cluster, writer: Writer, work: Work, now: float
) -> None:
    def errors(*outcomes: str) -> dict[str, list[tuple[Any, ...]]]:
        return {
            "error": [
                (now + 1, "inc-1", "", outcome, "ValueError", "no", "", 0, [], 0) for outcome in outcomes
            ]
        }

    work(now, now + 3)
    writer.write(Batch.of(cluster.pk, rows=errors("retried")))
    end(cluster, now + 20)
    find_runs()
    assert (only(cluster).outcome, only(cluster).errors) == (Run.Outcome.FINISHED, 0)
    writer.write(Batch.of(cluster.pk, rows=errors("erred", "killed")))
    Run.objects.update(counted=None)
    find_runs()
    assert (only(cluster).outcome, only(cluster).errors) == (Run.Outcome.ERRED, 2)


def failure(time: float, outcome: str = "erred", key: str = "inc-1") -> dict[str, list[tuple[Any, ...]]]:
    """The record of an agent."""
    return {"error": [(time, key, "", outcome, "ValueError", "no", "", 0, [], 0)]}


def test_the_error_of_the_last_task_belongs_to_its_run_though_it_is_later_than_the_tasks_span(
    cluster: Cluster, writer: Writer, work: Work, now: float
) -> None:
    work(now, now + 3)
    writer.write(Batch.of(cluster.pk, rows=failure(now + 2.503), errors=1, committed=now + 20))
    find_runs()
    run = only(cluster)
    assert (run.outcome, run.errors) == (Run.Outcome.ERRED, 1)
    assert run.stop is not None
    assert 2.503 < run.stop.timestamp() - now < 2.504


def test_an_error_that_arrives_after_its_run_was_found_is_added_to_it(
    cluster: Cluster, writer: Writer, work: Work, now: float
) -> None:
    work(now, now + 3, until=now + 20)
    find_runs()
    assert only(cluster).outcome == Run.Outcome.FINISHED
    writer.write(Batch.of(cluster.pk, rows=failure(now + 2.503), errors=1))
    find_runs()
    assert (only(cluster).outcome, only(cluster).errors) == (Run.Outcome.ERRED, 1)


def test_the_erred_tasks_that_a_stock_cluster_counts_belong_to_the_run_before(
    cluster: Cluster, writer: Writer, work: Work, now: float
) -> None:
    work(now, now + 3)
    erred = Event(now + 3.4, "tasks-erred", "", {"message": "2 tasks erred", "count": 2})
    writer.write(Batch.of(cluster.pk, events=[erred], errors=2, committed=now + 20))
    find_runs()
    assert (only(cluster).outcome, only(cluster).errors) == (Run.Outcome.ERRED, 2)


def test_a_task_whose_workers_died_long_after_the_last_span_is_an_error_of_the_run_that_waited_for_it(
    cluster: Cluster, writer: Writer, work: Work, now: float
) -> None:
    work(now, now + 3)
    for second in (20, 40):
        quiet(writer, cluster, now + second, processing=1)
        find_runs()
    writer.write(Batch.of(cluster.pk, rows=failure(now + 45, "killed"), errors=1, committed=now + 45))
    quiet(writer, cluster, now + 60)
    find_runs()
    assert windows(cluster, now) == [(0, pytest.approx(45, abs=1e-5))]
    assert (only(cluster).outcome, only(cluster).errors) == (Run.Outcome.ERRED, 1)


def test_a_cluster_in_which_tasks_only_fail_has_a_run_with_errors(
    cluster: Cluster, writer: Writer, work: Work, now: float
) -> None:
    writer.write(Batch.of(cluster.pk, rows=failure(now), errors=1, committed=now))
    writer.write(Batch.of(cluster.pk, rows=failure(now + 2), errors=1, committed=now + 20))
    find_runs()
    assert windows(cluster, now) == [(0, pytest.approx(2, abs=1e-5))]
    assert (only(cluster).outcome, only(cluster).errors) == (Run.Outcome.ERRED, 2)


@pytest.mark.parametrize(
    ("reason", "processing", "outcome"),
    [
        ("the scheduler closed", 3, Run.Outcome.FINISHED),
        ("the scheduler stopped answering", 0, Run.Outcome.FINISHED),
        ("the scheduler stopped answering", 3, Run.Outcome.LOST),
        *((reason, 0, Run.Outcome.FINISHED) for reason in (TARGET_PAUSED, TARGET_DELETED, MISSED)),
        *((reason, 3, Run.Outcome.UNSEEN) for reason in (TARGET_PAUSED, TARGET_DELETED, MISSED)),
    ],
)
def test_a_run_ends_with_its_cluster_and_is_lost_where_tasks_were_lost_with_it(
    cluster: Cluster, writer: Writer, work: Work, now: float, reason: str, processing: int, outcome: str
) -> None:
    work(now, now + 3)
    quiet(writer, cluster, now + 4, processing)
    end(cluster, now + 5, reason)
    find_runs()
    assert windows(cluster, now) == [(0, 2.5)]
    assert only(cluster).outcome == outcome


def test_a_run_whose_agent_fell_silent_is_lost_although_that_was_recorded_after_its_tasks(
    cluster: Cluster, writer: Writer, work: Work, now: float
) -> None:
    work(now, now + 3)
    quiet(writer, cluster, now + 4, processing=3)
    find_runs()
    silent = Event(now + 64, "agent-silent", "", {"message": "nothing was heard"})
    writer.write(Batch.of(cluster.pk, events=[silent]))
    find_runs()
    assert only(cluster).is_open
    end(cluster, now + 4, AGENT_STOPPED)
    find_runs()
    assert (only(cluster).outcome, windows(cluster, now)) == (Run.Outcome.LOST, [(0, 4)])


@pytest.mark.parametrize("is_paused", [True, False])
def test_a_run_goes_to_an_end_that_was_not_seen_where_its_target_is_paused_or_deleted(
    cluster: Cluster, writer: Writer, work: Work, now: float, is_paused: bool
) -> None:
    if is_paused:
        cluster.target = Target.objects.create(
            project=cluster.project, name="t", url="http://h:8787", enabled=False
        )
    cluster.last_seen = from_seconds(now + 4)
    cluster.save()
    work(now, now + 3)
    quiet(writer, cluster, now + 4, processing=3)
    find_runs()
    assert only(cluster).is_open
    end_abandoned()
    find_runs()
    run = Run.objects.get()
    assert (run.outcome, windows(cluster, now)) == (Run.Outcome.UNSEEN, [(0, 4)])
    headline = drawn_card(run, scope_of_run(run))["headline_error"]
    assert headline == f"No longer observed: its target was {'paused' if is_paused else 'deleted'}."
    # the header of its page: "recorded until", and not "ended"
    info = cluster_info(scope_of_run(run))
    assert info["end_reason"] == (TARGET_PAUSED if is_paused else TARGET_DELETED)


def test_a_run_goes_on_when_a_collector_takes_over_after_a_time_without_one(
    cluster: Cluster, writer: Writer, work: Work, now: float
) -> None:
    work(now, now + 3)
    quiet(writer, cluster, now + 4, processing=3)
    find_runs()
    gap = Event(now + 300, "not-observed", "", {"message": "no collector observed the cluster"})
    sample = Sample(PROCESSING, now + 300, 2)
    writer.write(Batch.of(cluster.pk, events=[gap], samples=[sample], committed=now + 299))
    find_runs()
    assert only(cluster).is_open
    quiet(writer, cluster, now + 400)
    find_runs()
    assert windows(cluster, now) == [(0, pytest.approx(300, abs=1e-5))]
    assert only(cluster).outcome == Run.Outcome.FINISHED


GONE = "the scheduler is gone: nothing listens at its address"


@pytest.mark.parametrize(
    ("waiting", "computed", "is_submitted", "outcome"),
    [
        (0, 0, False, Run.Outcome.FINISHED),
        (2, 2, False, Run.Outcome.FINISHED),
        (2, 1, False, Run.Outcome.UNSEEN),
        (0, 1, True, Run.Outcome.UNSEEN),
    ],
    ids=["nothing was left", "what was left was computed", "one may have failed", "more was submitted"],
)
def test_what_became_of_the_last_tasks_of_a_stock_cluster_is_not_guessed(
    cluster: Cluster,
    writer: Writer,
    work: Work,
    make: Any,
    now: float,
    waiting: int,
    computed: int,
    is_submitted: bool,
    outcome: str,
) -> None:
    work(now, now + 2)
    left = Series("observatory_cluster_tasks", (("state", "waiting"),))
    writer.write(Batch.of(cluster.pk, samples=[Sample(left, now + 2.5, waiting)], committed=now + 2.5))
    late = [make.span(now + 2.6, key=f"late-{n}", stop=now + 2.8) for n in range(computed)]
    submitted = [Event(now + 2.7, "graph-updated", "", {})] if is_submitted else []
    writer.write(Batch.of(cluster.pk, spans=late, events=submitted, committed=now + 3))
    end(cluster, now + 3, GONE)
    find_runs()
    assert only(cluster).outcome == outcome


def test_a_run_whose_end_was_not_seen_has_errors_if_some_are_known(
    cluster: Cluster, writer: Writer, work: Work, now: float
) -> None:
    work(now, now + 3)
    quiet(writer, cluster, now + 3)
    events = [
        Event(now + 3.1, "graph-updated", "", {}),
        Event(now + 3.2, "tasks-erred", "", {"message": "1 task erred", "count": 1}),
    ]
    writer.write(Batch.of(cluster.pk, events=events, errors=1, committed=now + 4))
    end(cluster, now + 4, GONE)
    find_runs()
    assert (only(cluster).outcome, only(cluster).errors) == (Run.Outcome.ERRED, 1)
