"""A live cluster that an agent reports of, rules, and rounds of the evaluator when a test wants them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from observatory.alerts.evaluation.evaluator import clusters_to_evaluate, evaluate
from observatory.alerts.models import Alert, Channel, Condition, Delivery, Rule
from observatory.clusters.models import Cluster, Project
from observatory.store.connection import read_connection
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.wire.records import Event, Sample, Series

START = 1_780_000_000.0
"""seconds; all that is told happens after it"""
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
CALM, BUSY = [1.0] * 20, [20.0] * 20
"""of 20 seconds each"""


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(START + seconds, UTC)


def after(time: datetime | None) -> float | None:
    """Seconds after START."""
    return None if time is None else round(time.timestamp() - START, 6)


@dataclass
class Observed:
    """Times are seconds after START, on the one clock that there is."""

    cluster: Cluster
    writer: Writer
    notified: list[Sample] = field(default_factory=list)

    def tell(self, *records: Sample | Event, until: float) -> None:
        """Stores records; all before `until` is stored then."""
        samples = [record for record in records if isinstance(record, Sample)]
        events = [record for record in records if isinstance(record, Event)]
        self.writer.write(Batch.of(self.cluster.pk, samples=samples, events=events, committed=START + until))
        Cluster.objects.filter(pk=self.cluster.pk).update(agent_heard=at(until))

    def load(self, *values: float, since: float, until: float | None = None) -> None:
        """A value of the metric `load` each second; complete up to the last, or `until`."""
        samples = [sample(since + index, value) for index, value in enumerate(values)]
        self.tell(*samples, until=since + len(values) if until is None else until)

    def evaluate(self, now: float) -> None:
        """A round at a time of our clock."""
        with read_connection() as connection:
            evaluate(connection, list(clusters_to_evaluate(START + now)), START + now)

    def end(self, time: float, reason: str = "the scheduler closed") -> None:
        Cluster.objects.filter(pk=self.cluster.pk).update(ended=at(time), end_reason=reason)


def sample(time: float, value: float, metric: str = "load", worker: str = "") -> Sample:
    return Sample(Series(metric, (), worker), START + time, value)


@pytest.fixture
def observed(transactional_db: None) -> Iterator[Observed]:
    Rule.objects.all().delete()
    project = Project.objects.create(name="Team", slug="team")
    cluster = Cluster.objects.create(
        project=project,
        scheduler_id="Scheduler-1",
        name="etl",
        started=at(0),
        last_seen=at(0),
        agent_heard=at(0),
    )
    with Writer() as writer:
        yield Observed(cluster, writer)
    delete_cluster(cluster.pk)


@pytest.fixture
def others(observed: Observed) -> Iterator[list[Observed]]:
    """Two more clusters like the first."""
    found = []
    for number in (2, 3):
        other = Cluster.objects.get(pk=observed.cluster.pk)
        other.pk, other.scheduler_id = None, f"Scheduler-{number}"
        other.save(force_insert=True)
        found.append(Observed(other, observed.writer))
    yield found
    for each in found:
        delete_cluster(each.cluster.pk)


@pytest.fixture
def channel(transactional_db: None) -> Channel:
    return Channel.objects.create(name="everybody", secret="", minimum_severity="info")


def make_rule(name: str = "load", condition: dict[str, Any] | None = None, **fields: Any) -> Rule:
    """Of a load of more than 10 on the whole cluster, unless another condition is given."""
    known = {"severity": "warning", "changed": LONG_AGO, **fields}
    rule = Rule.objects.create(name=name, **known)
    usual = {"kind": "metric", "metric": "load", "by": "cluster", "comparison": ">", "threshold": 10}
    Condition.objects.create(rule=rule, **(condition or usual))
    return rule


def event_rule(event: str, name: str = "", window: float = 60, by: str = "cluster", **fields: Any) -> Rule:
    condition = {"kind": "event", "event": event, "window_seconds": window, "by": by}
    return make_rule(name or event, condition, **fields)


def alerts() -> list[tuple[Any, ...]]:
    """(rule, state, pending, fired, resolved), in order; times are seconds after START."""
    return [
        (alert.rule.name, alert.state, after(alert.pending), after(alert.fired), after(alert.resolved))
        for alert in Alert.objects.select_related("rule").order_by("pending", "rule__name", "pk")
    ]


def notified() -> list[tuple[str, str]]:
    """(rule, change) of what is to be told, in order."""
    found = Delivery.objects.order_by("pk").values_list("alert__rule__name", "change")
    return list(found)
