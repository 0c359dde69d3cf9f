"""What a round of evaluation reads, locks and writes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from observatory.alerts.evaluation import evaluator as evaluation
from observatory.alerts.evaluation.window import data as window_data
from observatory.alerts.models import Alert, Progress
from observatory.store.late_records import LATENESS
from observatory.store.queries.alerts import events as queries_of_events
from observatory.store.queries.alerts.events import Asked
from observatory.wire.records import Event
from tests.alerts.evaluation.conftest import (
    BUSY,
    CALM,
    START,
    Observed,
    after,
    alerts,
    at,
    event_rule,
    make_rule,
    sample,
)
from tests.support.projects import make_run


def test_a_round_without_changes_writes_only_the_progress(
    observed: Observed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        evaluation, "VALUES_INTERVAL", 1e12
    )  # else each cluster's are written at a time of its own
    make_rule()
    observed.load(*CALM, *BUSY, since=0)
    observed.evaluate(40)
    before = rows_as_written()
    observed.load(*BUSY[:5], since=40)
    observed.evaluate(45)
    assert rows_as_written() == before
    assert after(Progress.objects.get().until) == 45 - LATENESS


def test_a_cluster_without_new_data_is_not_locked(observed: Observed) -> None:
    make_rule()
    observed.load(*BUSY, since=0)
    observed.evaluate(20)
    for now, expected in ((20, 0), (20.3, 0), (25, 1)):
        observed.tell(until=now)
        with CaptureQueriesContext(connection) as queries:
            observed.evaluate(now)
        assert sum("FOR UPDATE" in query["sql"] for query in queries) == expected, now


def test_with_more_clusters_each_has_longer_steps(
    observed: Observed, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_rule()
    observed.load(*CALM, since=0)
    observed.evaluate(20)
    monkeypatch.setattr(evaluation, "STEPS_PER_SECOND", 0.25)
    observed.load(*BUSY[:3], since=20)
    observed.evaluate(23)
    assert alerts() == [], "a cluster has 4 s"
    observed.load(*BUSY[:2], since=23)
    observed.evaluate(25)
    assert alerts() == [("load", "firing", 20, 20, None)]


def test_runs_are_read_only_of_clusters_where_some_ended(observed: Observed) -> None:
    condition = {"kind": "run", "measure": "duration", "comparison": ">", "threshold": 0.5, "by": "run"}
    make_rule("slower", {**condition, "window_seconds": 60, "earlier_runs": 10, "fewest_runs": 3})

    def reads_of_runs(now: float) -> int:
        observed.load(*CALM[:10], since=now - 10)
        with CaptureQueriesContext(connection) as queries:
            observed.evaluate(now)
        return sum('FROM "runs_run"' in query["sql"] for query in queries)

    assert reads_of_runs(20) == 1, "those of all clusters together"
    for place, minutes in enumerate((0.1, 0.1, 0.1, 0.2)):
        make_run(observed.cluster, "nightly", at=0.2 * place, minutes=minutes, counted=at(30))
    assert reads_of_runs(60) > 1
    assert alerts() == [("slower", "firing", 48, 48, None)]
    observed.load(*CALM, *CALM, *CALM, *CALM, since=60)
    observed.evaluate(140)
    assert alerts() == [("slower", "resolved", 48, 48, 108)]
    assert reads_of_runs(150) == 1, "they ended longer ago than the rule's window"


def test_a_cluster_without_events_is_not_asked_for_those_of_each_rule(
    observed: Observed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for event in ("worker-lost", "killed-worker", "worker-paused", "unreachable", "collector-lag"):
        event_rule(event)
    reads: list[str] = []
    read = queries_of_events._read

    def noted(connection: psycopg.Connection, query: Any, asked: Sequence[Asked], *others: Any) -> Any:
        reads.extend(each.what for each in asked)
        return read(connection, query, asked, *others)

    monkeypatch.setattr(queries_of_events, "_read", noted)
    observed.load(*CALM, since=0)
    observed.evaluate(20)  # begins: what it has isn't known yet
    reads.clear()
    observed.load(*CALM, since=20)
    observed.evaluate(40)
    assert reads == []
    found = (Event(START + 45, "worker-lost"), Event(START + 46, "scheduler-unreachable"))
    observed.tell(*found, until=60)
    observed.evaluate(60)
    assert {name for name, *_ in alerts()} == {"worker-lost", "unreachable"}
    assert not {"errors", "worker-status"}.intersection(reads)


def test_the_clusters_of_a_transaction_are_read_with_one_query_a_table(
    observed: Observed, others: list[Observed], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_rule("busy")
    make_rule("memory", {"kind": "metric", "metric": "memory", "by": "cluster", "threshold": 10})
    asked: list[str] = []

    def noted(name: str, query: Any, *given: Any) -> Any:
        asked.append(name)
        return query(*given)

    for name in ("workers_within", "series_within", "samples_within"):
        monkeypatch.setattr(window_data, name, partial(noted, name, getattr(window_data, name)))
    second, third = others
    observed.load(*CALM, since=0)
    second.load(*CALM, *BUSY, since=3)
    memory = [sample(time, 40, "memory") for time in range(7, 17)]
    third.tell(*memory, *(sample(time, 1) for time in range(20)), until=20)
    observed.evaluate(60)
    found = Alert.objects.values_list("cluster", "rule__name", "fired")
    assert sorted(found) == sorted([(second.cluster.pk, "busy", at(23)), (third.cluster.pk, "memory", at(7))])
    assert sorted(asked) == ["samples_within", "series_within", "workers_within"]


def test_small_clusters_share_a_transaction_and_one_that_fails_has_its_own(
    observed: Observed,
    others: list[Observed],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    make_rule()
    first = observed.cluster
    for each in (observed, *others):
        each.load(*BUSY, since=0)

    def transactions(now: float) -> int:
        with CaptureQueriesContext(connection) as queries:
            observed.evaluate(now)
        return sum("FOR UPDATE" in query["sql"] for query in queries)

    assert transactions(20) == 1
    assert alerts() == [("load", "firing", 0, 0, None)] * 3
    for each in (observed, *others):
        each.load(*CALM, since=20)
    run = evaluation.Step.run

    def fail(step: evaluation.Step, *arguments: Any) -> bool:
        if step.cluster.pk == first.pk:
            raise ValueError("this cluster cannot be evaluated")
        return run(step, *arguments)

    monkeypatch.setattr(evaluation.Step, "run", fail)
    assert transactions(60) == 4, "together, then each alone"
    assert sorted(state for _, state, *_ in alerts()) == ["firing", "resolved", "resolved"]
    assert caplog.text.count(f"the alerts of cluster {first.pk} failed") == 1
    monkeypatch.setattr(evaluation.Step, "run", run)
    monkeypatch.setattr(evaluation, "FEW_WORKERS", -1)
    monkeypatch.setattr(evaluation, "FEW_WORKERS_OF_LATE", -1)
    for each in (observed, *others):
        each.load(*CALM, since=60)
    assert transactions(80) == 3, "large clusters wait for none"
    assert {state for _, state, *_ in alerts()} == {"resolved"}


def rows_as_written() -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, xmin::text FROM alerts_alert UNION SELECT id, xmin::text FROM alerts_rule")
        return sorted(cursor.fetchall())
