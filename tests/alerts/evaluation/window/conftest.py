from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import psycopg
import pytest

from observatory.alerts.evaluation.window.data import WindowData
from observatory.alerts.evaluation.window.evaluate import evaluate_rule
from observatory.alerts.evaluation.window.outcomes import Subject
from observatory.alerts.evaluation.window.state_machine import ActiveAlert, Firing, advance
from observatory.alerts.rules.conditions import (
    Aggregate,
    AnyCondition,
    By,
    Comparison,
    MetricCondition,
    RuleSpec,
    Selector,
)
from observatory.clusters.models import Cluster, Project
from observatory.store.connection import connect
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.times import from_seconds
from observatory.wire.records import Event, MetricType, Sample, Series, WorkerGone, WorkerSeen

START = 1_780_000_000.0
"""seconds; when the cluster started"""
MEMORY = "observatory_worker_memory_bytes"

Fired = list[tuple[str, Firing]]
"""with the subject's worker, or its labels"""


@dataclass
class Stored:
    """Stores what a cluster tells, and judges it. Times are seconds after START."""

    connection: psycopg.Connection
    cluster: Cluster

    def write(self, **records: Any) -> None:
        with Writer() as writer:
            writer.write(Batch.of(self.cluster.pk, **records))

    def worker(self, address: str = "w0", started: float = 0, limit: int = 100, threads: int = 2) -> int:
        """A worker, named as its address; its id."""
        self.write(workers=[WorkerSeen(address, address, "h", threads, limit, START + started)])
        row = self.connection.execute(
            "SELECT id FROM worker WHERE cluster_id = %s AND address = %s ORDER BY started DESC LIMIT 1",
            [self.cluster.pk, address],
        ).fetchone()
        assert row is not None
        return int(row[0])

    def leaves(self, address: str, time: float) -> None:
        self.write(gone=[WorkerGone(address, START + time, "lost")])

    def ends(self, time: float, reason: str = "the scheduler closed") -> None:
        self.cluster.ended = from_seconds(START + time)
        self.cluster.end_reason = reason
        self.cluster.save()

    def samples(
        self,
        notified: Mapping[float, float],
        metric: str = MEMORY,
        worker: str = "",
        type: MetricType = MetricType.GAUGE,
        **labels: str,
    ) -> None:
        """Values by their time."""
        series = Series(metric, tuple(sorted(labels.items())), worker, type)
        self.write(samples=[Sample(series, START + time, value) for time, value in notified.items()])

    def event(self, time: float, kind: str, worker: str = "", **detail: Any) -> None:
        self.write(events=[Event(START + time, kind, worker, detail)])

    def data(self, start: float, stop: float) -> WindowData:
        return WindowData(self.connection, self.cluster, START + start, START + stop)

    def firings(self, spec: RuleSpec, *cuts: float) -> Fired:
        """What fires in the windows between the cuts, one after the other, in order; times after START."""
        active: dict[Subject, ActiveAlert] = {}
        found: dict[tuple[Subject, float], Firing] = {}
        for start, stop in pairwise(cuts):
            outcomes = evaluate_rule(self.data(start, stop), spec, active.keys())
            left = {}
            for outcome in outcomes:
                fired, stands = advance(active.get(outcome.subject), outcome, START + stop, spec.hold)
                found |= {(outcome.subject, firing.fired): firing for firing in fired}
                if stands is not None:
                    left[outcome.subject] = stands
            active = left
        after = [(name_of(subject), shifted(firing)) for (subject, _), firing in found.items()]
        return sorted(after, key=lambda each: (each[1].fired, each[0]))


def name_of(subject: Subject) -> str:
    return subject.labels.get("worker") or ",".join(map("=".join, sorted(subject.labels.items())))


def shifted(firing: Firing) -> Firing:
    """With times after START."""
    pending, fired = round(firing.pending - START, 6), round(firing.fired - START, 6)
    resolved = None if firing.resolved is None else round(firing.resolved - START, 6)
    return Firing(pending, fired, resolved, firing.value, firing.text)


@pytest.fixture
def stored(db: None) -> Iterator[Stored]:
    """What it stores is removed after the test: emptying all tables would take longer than all tests here."""
    project = Project.objects.create(name="Team", slug="team")
    started = from_seconds(START)
    cluster = Cluster.objects.create(
        project=project, scheduler_id="Scheduler-1", name="etl", started=started, last_seen=started
    )
    try:
        with connect() as connection:
            yield Stored(connection, cluster)
    finally:
        delete_cluster(cluster.pk)


def above(threshold: float, metric: str = MEMORY, **changes: Any) -> MetricCondition:
    """A condition of each worker's sum."""
    usual: dict[str, Any] = {
        "selector": Selector(metric),
        "by": By.WORKER,
        "aggregate": Aggregate.SUM,
        "comparison": Comparison.ABOVE,
        "threshold": threshold,
    }
    return MetricCondition(**{**usual, **changes})


def rule(*conditions: AnyCondition, **changes: Any) -> RuleSpec:
    return RuleSpec(conditions, **changes)
