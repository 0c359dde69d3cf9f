"""What conditions on events say, judged on what is stored."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from observatory.alerts.evaluation.window.state_machine import Firing
from observatory.alerts.rules.conditions import By, EventCondition
from observatory.alerts.rules.events import (
    AGENT_SILENCE,
    ENDED_WITH_ERRORS,
    KILLED_WORKER,
    LOG,
    RUN_SLOWER,
    TASK_ERRED,
    UNREACHABLE,
    WORKER_PAUSED,
)
from observatory.clusters.end_reasons import MISSED, TARGET_DELETED, TARGET_PAUSED
from observatory.runs.models import Run
from observatory.wire.records import Event
from tests.alerts.evaluation.window.conftest import START, Fired, Stored, above, rule
from tests.support.projects import make_run
from tests.support.recorded_cluster import Recorded


def event(kind: str, **changes: Any) -> EventCondition:
    """A condition of each worker; once, within ten seconds."""
    return EventCondition(**{"event": kind, "by": By.WORKER, "window": 10.0, **changes})


def texts(fired: Fired) -> list[tuple[str, float, float | None, str]]:
    return [(name, firing.fired, firing.resolved, firing.text) for name, firing in fired]


@pytest.fixture
def recorded(stored: Stored) -> Recorded:
    """Its times are those of `stored`, too."""
    return Recorded(stored.connection, stored.cluster.pk)


def test_an_event_is_in_effect_for_the_window(stored: Stored) -> None:
    stored.worker("w0")
    stored.event(3.25, "worker-lost", "w0", message="w0 is gone")
    lost = rule(event("worker-lost"))
    assert stored.firings(lost, 0, 30) == [("w0", Firing(3.25, 3.25, 13.25, 1, "w0 is gone"))]
    assert stored.firings(lost, 0, 3.25, 8, 30) == stored.firings(lost, 0, 30)
    assert texts(stored.firings(lost, 5, 30)) == [("w0", 5, 13.25, "w0 is gone")]
    assert stored.firings(lost, 13.25, 30) == []


def test_an_event_outlasts_its_worker(stored: Stored) -> None:
    stored.worker("w0")
    stored.event(3, "worker-lost", "w0", message="w0 is gone")
    stored.leaves("w0", 3)
    assert texts(stored.firings(rule(event("worker-lost", window=60)), 50, 100)) == [
        ("w0", 50, 63, "w0 is gone")
    ]


def test_events_are_counted_within_the_window_and_the_newest_gives_the_text(stored: Stored) -> None:
    for name in ("w0", "w1"):
        stored.worker(name)
    for time, name in ((1, "w0"), (5, "w1"), (10.5, "w0"), (12, "w0")):
        stored.event(time, "worker-restarted", name, message=f"{name} at {time}")
    twice = rule(event("worker-restarted", count=2))
    assert texts(stored.firings(twice, 0, 40)) == [
        ("w0", 10.5, 11, "w0 at 10.5"),
        ("w0", 12, 20.5, "w0 at 12"),
    ]
    of_all = rule(event("worker-restarted", count=3, by=By.CLUSTER))
    assert texts(stored.firings(of_all, 0, 40)) == [
        ("", 10.5, 11, "w0 at 10.5"),
        ("", 12, 15, "w0 at 12"),
    ]


def test_errors_count_individually_or_by_their_reported_number(stored: Stored, recorded: Recorded) -> None:
    recorded.worker("tcp://1", "w0")
    recorded.error(1, "load-1", message="bad file", workers=["tcp://1"])
    recorded.error(2, "load-2", message="again", outcome="retried", workers=["tcp://1"])
    recorded.error(3, "load-3", "KilledWorker", "too often", outcome="killed")
    erred = rule(event(TASK_ERRED.name))
    assert texts(stored.firings(erred, 0, 40)) == [
        ("w0", 1, 11, "ValueError: bad file (load)"),
        ("", 3, 13, "KilledWorker: too often (load)"),
    ]
    killed = rule(event(KILLED_WORKER.name, by=By.CLUSTER))
    assert texts(stored.firings(killed, 0, 40)) == [("", 3, 13, "KilledWorker: too often (load)")]
    stored.event(20, "tasks-erred", message="7 tasks erred", count=7)
    many = rule(event(TASK_ERRED.name, by=By.CLUSTER, count=7))
    assert stored.firings(many, 0, 40) == [("", Firing(20, 20, 30, 7, "7 tasks erred"))]
    of_files = rule(event(TASK_ERRED.name, pattern="bad (file|disk)"))
    assert texts(stored.firings(of_files, 0, 40)) == [("w0", 1, 11, "ValueError: bad file (load)")]


def test_log_lines_match_by_level_and_pattern(stored: Stored, recorded: Recorded) -> None:
    recorded.worker("tcp://1", "w0")
    recorded.log(1, "out of memory, says the debugger", level=10, worker="tcp://1")
    recorded.log(2, "all is well", level=40, worker="tcp://1")
    recorded.log(3, "the disk is FULL", level=40, worker="tcp://1")
    recorded.log(4, "tcp://1 is out of memory", level=30)
    warned = event(LOG.name, level=30, pattern=r"(?i)out of memory|disk.*full$")
    assert texts(stored.firings(rule(warned), 0, 40)) == [
        ("w0", 3, 13, "the disk is FULL"),
        ("", 4, 14, "tcp://1 is out of memory"),
    ]


def test_patterns_take_linear_time(stored: Stored, recorded: Recorded) -> None:
    recorded.log(1, "a" * 500 + "b", level=30)
    evil = event(LOG.name, pattern="(a+)+$")
    assert stored.firings(rule(evil), 0, 40) == []


def test_a_pause_lasts_until_the_status_changes_or_the_worker_leaves(stored: Stored) -> None:
    for name in ("w0", "w1", "w2"):
        stored.worker(name)
    # as an agent tells it, and as the collector does
    stored.event(5, "worker-status", "w0", message="w0 is paused", before="running", status="paused")
    stored.event(300, "worker-status", "w0", message="w0 is running", before="paused", status="running")
    stored.write(
        events=[Event(START + 7, "worker-status", "w1", {"message": "w1 is paused", "status": "paused"})]
    )
    stored.event(8, "worker-status", "w2", message="w2 closes", status="closing_gracefully")
    stored.leaves("w1", 200)
    paused = rule(event(WORKER_PAUSED.name), hold=60)
    expected = [("w0", 65, 300, "w0 is paused"), ("w1", 67, 200, "w1 is paused")]
    assert texts(stored.firings(paused, 0, 400)) == expected
    assert texts(stored.firings(paused, 0, 6, 65, 100, 250, 350, 400)) == expected
    assert texts(stored.firings(paused, 150, 400)) == [("w0", 210, 300, "w0 is paused")]
    two = rule(event(WORKER_PAUSED.name, by=By.CLUSTER, count=2))
    assert texts(stored.firings(two, 0, 100, 400)) == [("", 7, 200, "w1 is paused")]


def test_unreachability_lasts_until_the_scheduler_answers_or_the_cluster_ends(stored: Stored) -> None:
    stored.event(5, "scheduler-unreachable", message="no answer")
    stored.event(50, "scheduler-reachable", message="it answers")
    stored.event(70, "scheduler-unreachable", message="no answer again")
    away = rule(event(UNREACHABLE.name, by=By.CLUSTER))
    expected = [("", 5, 50, "no answer"), ("", 70, None, "no answer again")]
    assert texts(stored.firings(away, 0, 100)) == expected
    assert texts(stored.firings(away, 0, 20, 60, 80, 100)) == expected
    assert texts(stored.firings(away, 20, 60)) == [("", 20, 50, "no answer")]
    stored.ends(90)
    assert texts(stored.firings(away, 60, 80, 100)) == [("", 70, 90, "no answer again")]


def test_silence_lasts_until_the_event_that_ends_it_which_may_follow_the_end_of_the_cluster(
    stored: Stored,
) -> None:
    stored.event(5, "agent-silent", message="nothing was heard")
    stored.event(15, "agent-silent", message="noticed twice")
    stored.event(50, "agent-heard", message="heard")
    stored.event(70, "agent-silent", message="nothing was heard again")
    silent = rule(event(AGENT_SILENCE.name, by=By.CLUSTER))
    expected = [("", 5, 50, "nothing was heard"), ("", 70, None, "nothing was heard again")]
    assert texts(stored.firings(silent, 0, 100)) == expected
    assert texts(stored.firings(silent, 0, 20, 60, 80, 100)) == expected
    stored.ends(60)
    stored.event(120, "agent-heard", message="the cluster ended")
    assert texts(stored.firings(silent, 60, 80, 130)) == [("", 70, 120, "nothing was heard again")]


def test_a_cluster_that_ended_with_errors_fires(stored: Stored) -> None:
    ended = rule(event(ENDED_WITH_ERRORS.name, by=By.CLUSTER))
    stored.samples({40: 3}, "observatory_cluster_tasks", state="processing")
    stored.ends(41)
    assert stored.firings(ended, 0, 100) == []
    stored.write(errors=2, committed=START + 41)
    assert texts(stored.firings(ended, 0, 100)) == [("", 41, 51, "ended after 2 tasks erred")]
    stored.ends(41, reason="the scheduler stopped answering")
    said = "the scheduler stopped answering, while tasks were running"
    assert texts(stored.firings(ended, 0, 45, 100)) == [("", 41, 51, said)]
    stored.ends(41, reason=MISSED)
    assert texts(stored.firings(ended, 0, 100)) == [("", 41, 51, "ended after 2 tasks erred")]
    stored.samples({40.5: 0}, "observatory_cluster_tasks", state="processing")
    stored.ends(41, reason="the scheduler stopped answering")
    assert texts(stored.firings(ended, 0, 100)) == [("", 41, 51, "ended after 2 tasks erred")]


@pytest.mark.parametrize("reason", [TARGET_PAUSED, TARGET_DELETED])
def test_a_cluster_whose_target_was_paused_or_deleted_has_not_ended(stored: Stored, reason: str) -> None:
    stored.samples({40: 3}, "observatory_cluster_tasks", state="processing")
    stored.write(errors=2, committed=START + 41)
    stored.ends(41, reason=reason)
    assert stored.firings(rule(event(ENDED_WITH_ERRORS.name, by=By.CLUSTER)), 0, 100) == []


def test_a_run_slower_than_earlier_runs_of_its_name_fires(stored: Stored) -> None:
    for place, minutes in enumerate((1.0, 1.02, 0.99, 1.01)):
        make_run(stored.cluster, "nightly", at=place * 10, minutes=minutes)
    make_run(stored.cluster, "nightly", at=50, minutes=1.5)
    make_run(stored.cluster, "nightly", at=60, minutes=1.01)
    make_run(stored.cluster, "other", at=70, minutes=9)
    slower = rule(event(RUN_SLOWER.name, by=By.CLUSTER, window=60))
    said = "nightly took 1 min 30 s, usually 1 min"
    assert texts(stored.firings(slower, 0, 2000, 3100, 5000)) == [("", 3090, 3150, said)]
    lost = Run.objects.get(cluster=stored.cluster, start=stored.cluster.started + timedelta(minutes=50))
    lost.outcome = Run.Outcome.LOST
    lost.save()
    assert stored.firings(slower, 0, 5000) == []


def test_conditions_on_events_and_metrics_can_be_combined(stored: Stored) -> None:
    for name in ("w0", "w1"):
        stored.worker(name)
        stored.samples({1: 90}, worker=name)
    stored.event(5, "worker-status", "w0", message="w0 is paused", status="paused")
    paused = event(WORKER_PAUSED.name)
    assert texts(stored.firings(rule(above(80), paused), 0, 30)) == [("w0", 5, 16, "")]
    assert texts(stored.firings(rule(paused, above(80)), 0, 10, 30)) == [("w0", 5, 16, "w0 is paused")]
