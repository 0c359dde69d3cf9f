"""What Celery's schedule does while nothing happens: it doesn't grow with the clusters that ended."""

from __future__ import annotations

import time
import traceback
from typing import Any

import psycopg
import pytest
from celery.app.task import Task
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from observatory.clusters.models import Cluster, Project
from observatory.config.celery import app
from observatory.replay import tasks as replay_tasks
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.times import from_seconds
from observatory.why.findings import of_runs
from observatory.wire.records import Action, Sample, Series, Span, Status, WorkerSeen

pytestmark = pytest.mark.django_db(transaction=True)

SECONDS = 20
WORKER = "tcp://10.0.0.1:1"
ONCE_A_DAY = 3600
"""seconds; tasks that are due less often are not what an installation at rest does"""


def ended_clusters(writer: Writer, project: Project, count: int, offset: int) -> None:
    """Clusters that ended within the last hours, with spans and samples."""
    for number in range(count):
        start = time.time() - 4 * 3600 - 60 * (number + offset)
        cluster = Cluster.objects.create(
            project=project,
            scheduler_id=f"Scheduler-{offset}-{number}",
            name=f"cluster {number}",
            started=from_seconds(start),
            last_seen=from_seconds(start + SECONDS),
            agent_heard=from_seconds(start + SECONDS),
            ended=from_seconds(start + SECONDS),
            end_reason="the scheduler closed",
        )
        spans = [
            Span(
                WORKER,
                1,
                f"inc-{n}",
                "inc",
                "inc",
                Action.COMPUTE,
                start + n,
                start + n + 0.5,
                28,
                "int",
                Status.OK,
            )
            for n in range(SECONDS)
        ]
        series = Series("observatory_worker_memory_bytes", (), WORKER)
        samples = [Sample(series, start + second, 1.0) for second in range(SECONDS)]
        writer.write(Batch.of(cluster.pk, [WorkerSeen(WORKER, "w", "h", 1, 2**30, start)], spans, samples))


def tasks() -> list[str]:
    """The names of the tasks of the schedule that run at least hourly."""
    entries = settings.CELERY_BEAT_SCHEDULE.values()
    return [
        entry["task"]
        for entry in entries
        if isinstance(entry["schedule"], int | float) and entry["schedule"] < ONCE_A_DAY
    ]


def rounds(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Runs each task of the schedule so many times, and what they send, as beat and the workers do."""

    def run_at_once(self: Task, args: Any = (), kwargs: Any = None, countdown: float = 0, **_: Any) -> None:
        if not countdown:  # a round that follows is one like this
            self(*(args or ()), **(kwargs or {}))

    with monkeypatch.context() as patch:
        patch.setattr(Task, "apply_async", run_at_once)
        for _ in range(count):
            for name in tasks():
                app.tasks[name]()


def statements(monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Django's statements of a round at rest, and the clusters that were looked at for tiles."""
    built: list[Cluster] = []
    with monkeypatch.context() as patch:
        patch.setattr(replay_tasks, "build_if_unlocked", built.append)
        with CaptureQueriesContext(connection) as queries:
            rounds(monkeypatch, 1)
    return len(queries), len(built)


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Project:
    """Of clusters that ended, of which no tile is known to be built."""
    app.loader.import_default_modules()
    app.finalize()
    monkeypatch.setattr(replay_tasks, "_built", {})
    return Project.objects.create(name="Ended", slug="ended")


def test_rounds_at_rest_do_not_cost_more_with_more_ended_clusters(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Writer() as writer:
        ended_clusters(writer, project, 3, 0)
        _let_settle(monkeypatch)
        before, built = statements(monkeypatch)
        assert not built
        ended_clusters(writer, project, 12, 3)
    new, built = statements(monkeypatch)
    assert built == 12, "what ended is looked at"
    assert new > before
    _let_settle(monkeypatch)
    after, built = statements(monkeypatch)
    assert not built
    assert after <= before


def test_rounds_at_rest_open_no_sessions(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each begins with the database's catalogue."""
    with Writer() as writer:
        ended_clusters(writer, project, 3, 0)
    _let_settle(monkeypatch)
    opened: list[str] = []

    def noted(*arguments: Any, **parameters: Any) -> psycopg.Connection:
        opened.append("".join(traceback.format_stack(limit=6)))
        return psycopg.Connection.connect(*arguments, **parameters)

    monkeypatch.setattr("observatory.store.connection.psycopg.connect", noted)
    rounds(monkeypatch, 2)
    assert not opened, opened[0]


def test_the_runs_of_a_thousand_clusters_may_be_looked_at_within_minutes() -> None:
    """Whatever the time of each: an installation comes to rest, and has its findings."""
    rounds = 5 * 60 / settings.CELERY_BEAT_SCHEDULE["look-at-runs"]["schedule"]
    assert rounds * of_runs.MOST_RUNS >= 1_000


def _let_settle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets all that ended be searched for runs, built, counted, evaluated and looked at."""
    for _ in range(20):
        rounds(monkeypatch, 1)
        counts = [statements(monkeypatch) for _ in range(2)]
        if counts[0] == counts[1] and not counts[0][1]:
            return
    raise AssertionError(f"the rounds don't settle: {counts}")
