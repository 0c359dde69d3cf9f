"""A round asks for all clusters of a transaction together, whatever its rules are about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from observatory.alerts.evaluation import evaluator as evaluation
from observatory.alerts.models import Alert
from observatory.alerts.rules.conditions import Measure
from observatory.alerts.rules.events import RULE_EVENTS
from observatory.store.ingest.batches.batch import Batch
from observatory.store.late_records import note_since
from observatory.wire.records import Event, WorkerSeen
from tests.alerts.evaluation.conftest import (
    BUSY,
    CALM,
    START,
    Observed,
    at,
    event_rule,
    make_rule,
    sample,
)
from tests.support.projects import make_run

ADDRESS = "tcp://10.0.0.1:4000"
RECORDED = {source for event in RULE_EVENTS.values() for source in event.sources} - {"errors", "logs"}


@pytest.fixture
def three(observed: Observed, others: list[Observed]) -> list[Observed]:
    return [observed, *others]


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What was sent to the database since the last call, by Django and by readers.

    But for which tasks are others': of each run with errors that a rule about new errors compares.
    """
    sent: list[str] = []
    execute, copy = psycopg.Cursor.execute, psycopg.Cursor.copy

    def noted(self: Any, query: Any, *args: Any, **options: Any) -> Any:
        sent.append(str(query))
        return execute(self, query, *args, **options)

    def noted_copy(self: Any, query: Any, *args: Any, **options: Any) -> Any:
        sent.append(str(query))
        return copy(self, query, *args, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", noted)
    monkeypatch.setattr(psycopg.Cursor, "copy", noted_copy)

    def taken() -> list[str]:
        found = list(sent)
        sent.clear()
        return [query for query in found if "detail->>'run'" not in query]

    return taken


def on_metrics() -> None:
    of = {"kind": "metric", "metric": "load", "comparison": ">", "threshold": 10}
    make_rule("by cluster", {**of, "by": "cluster"})
    make_rule("by worker", {**of, "by": "worker", "other": "attribute", "other_attribute": "nthreads"})
    make_rule("rate", {**of, "by": "cluster", "function": "rate"})
    make_rule("without data", {**of, "by": "series"}, no_data="fire")
    make_rule("absent", {**of, "by": "series", "comparison": "absent"})


def on_events() -> None:
    for event in RULE_EVENTS:
        event_rule(event, by="worker")


def on_runs() -> None:
    of = {"kind": "run", "comparison": ">", "threshold": 0.5, "by": "run", "earlier_runs": 5}
    for measure in Measure:
        make_rule(measure, {**of, "measure": measure, "window_seconds": 60, "fewest_runs": 2})
    event_rule("run-slower")


def tell_everything(cluster: Observed) -> None:
    """Of each source something, in the first 20 seconds."""
    cluster.writer.write(
        Batch.of(
            cluster.cluster.pk,
            workers=[WorkerSeen(ADDRESS, "w0", "h", 2, 0, START)],
            samples=[sample(time, 20.0, worker=ADDRESS) for time in range(10)],
            events=[
                Event(START + 5, kind, ADDRESS, {"status": "paused", "message": kind})
                for kind in sorted(RECORDED)
            ],
            rows={
                "log": [(START + 6, "worker", ADDRESS, 40, "jobs", "it failed", "", 1)],
                "error": [(START + 6, "inc-1", ADDRESS, "erred", "ValueError", "no", "", 0, [], 0, "inc")],
            },
        )
    )
    for place in range(4):
        name = f"nightly of {cluster.cluster.pk}"
        make_run(
            cluster.cluster,
            name,
            at=0.05 * place,
            minutes=0.04,
            counted=at(20),
            errors=place,
            code_id=uuid4(),
        )
    cluster.load(*CALM, since=0)


@pytest.mark.parametrize("make_rules", [on_metrics, on_events, on_runs])
def test_three_clusters_cost_as_many_queries_as_one(
    make_rules: Callable[[], None],
    three: list[Observed],
    queries: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(evaluation, "VALUES_INTERVAL", 1e12)
    make_rules()
    first = three[0]
    for each in three:
        tell_everything(each)
    first.evaluate(20)
    first.load(*CALM[:10], since=20)
    queries()
    first.evaluate(30)
    of_one = queries()
    assert Alert.objects.values("cluster").distinct().count() == 3, "something is true of each"
    for each in three:
        each.load(*CALM[:15], since=20 + 10 * (each is first))
    queries()
    first.evaluate(37)
    of_three = queries()
    assert len(of_three) == len(of_one), "\n".join(sorted(of_three))


def test_what_begins_and_what_came_late_is_read_and_written_together(
    three: list[Observed], queries: Callable[[], list[str]]
) -> None:
    make_rule()
    first, *others = three

    def sent_for(some: list[Observed]) -> int:
        """The queries of a round in which an alert begins in each, and one of late data."""
        for each in some:
            each.load(*CALM, since=0)
        first.evaluate(20)
        for each in some:
            each.load(*BUSY[:8], *CALM[:2], since=30)
            each.tell(sample(10, 20), until=40)
            note_since(each.cluster.pk, at(10))
        queries()
        first.evaluate(40)
        return len(queries())

    alone = sent_for([first])
    assert Alert.objects.count() == 2
    assert sent_for(others) == alone
    assert Alert.objects.count() == 6


def test_rules_are_read_when_a_cluster_has_a_step_to_evaluate_and_not_before(
    three: list[Observed], queries: Callable[[], list[str]]
) -> None:
    """Clusters at rest have one each twelve seconds, and a round begins each two."""
    make_rule()
    first, *others = three
    for each in three:
        each.load(*CALM, since=0)

    def reads_rules(until: float) -> bool:
        queries()
        first.evaluate(until)
        return any("alerts_rule" in query for query in queries())

    assert reads_rules(20)
    assert not reads_rules(20)
    others[0].load(*CALM, since=20)
    assert reads_rules(30)
