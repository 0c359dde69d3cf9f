"""What rules on runs, receivers of logs and runs among others need is found in files: nothing comes back."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from observatory.alerts.evaluation.window.data import WindowData
from observatory.alerts.evaluation.window.runs import judged_runs
from observatory.alerts.rules.conditions import Measure, RunCondition
from observatory.clusters.models import Cluster
from observatory.exchange.receivers.otlp import logs as otlp_logs
from observatory.exchange.receivers.otlp.attributes import Resources
from observatory.exchange.receivers.otlp.identity import Identity
from observatory.exchange.receivers.otlp.logs import LogsOfRun
from observatory.replay.scope import Scope
from observatory.runs.models import Run
from observatory.runs.other_work import other_work_of
from observatory.store.archive import presence
from observatory.store.archive.rounds.round import archive_round
from observatory.store.connection import connect_reader
from observatory.store.ingest.batches.batch import BatchBuilder
from observatory.store.ingest.writer import Writer
from observatory.store.queries.tasks.errors import ErrorFilter
from observatory.store.queries.windows.other_work import other_prefixes
from observatory.store.queries.windows.tasks.sampled_tasks import processes
from observatory.wire.event_kinds import CLIENT_DESCRIBED, GRAPH_UPDATED
from observatory.wire.head import Head
from observatory.wire.records import Event
from tests.store.archive.conftest import remove_unused
from tests.store.archive.long_history import START, STEP, STEPS, key_of
from tests.support.projects import make_run

CODE = uuid.UUID(int=7)
"""the client's id of the second run"""
HALF = round(STEPS * STEP / 60 / 2)
"""minutes"""


@pytest.fixture
def runs(recorded: Cluster) -> list[Run]:
    """Two, each with half of the errors. In the second, other clients submitted tasks of a shared group."""
    cluster, middle = recorded, START + HALF * 60
    end = START + STEPS * STEP + 10
    head = Head(uuid.uuid4().hex, 1, "Scheduler-1", "etl", "", START - 10, START - 5, end)
    batch = BatchBuilder(cluster.pk, head=head, committed=end)
    batch.events = [
        Event(middle - 5, CLIENT_DESCRIBED, "", {"client": "Client-1", "run": CODE.hex}),
        Event(middle + 1, GRAPH_UPDATED, "", {"runs": [CODE.hex]}),
        Event(middle + 3, GRAPH_UPDATED, "", {"runs": []}),
    ]
    batch.rows["computation"] = [
        (middle + 1, "own", "Client-1", "", [["load-1", 2]], {}, []),
        (middle + 3, "of a colleague", "Client-2", "", [["load-1", 2], ["load-4", 20]], {}, []),
    ]
    batch.rows["task"] = [
        (middle + 1, "own", key_of(1), "(0,)", 0, {}, {}),
        (middle + 3, "of a colleague", key_of(8), "(0,)", 0, {}, {}),
        (middle + 3, "of a colleague", key_of(4), "(0,)", 0, {}, {}),
    ]
    with Writer() as writer:
        writer.write(batch.batch)
    fields = {"name": "etl", "outcome": Run.Outcome.ERRED, "errors": 3}
    return [
        make_run(cluster, at=0, minutes=HALF, **fields),
        make_run(cluster, at=HALF, minutes=HALF, code_id=CODE, origin=Run.Origin.CODE, **fields),
    ]


def _others(connection: psycopg.Connection, runs: list[Run]) -> Any:
    run = runs[1]
    assert run.stop is not None
    others = other_work_of(connection, run, run.stop)
    assert others.client == "Client-1"
    assert len(others.groups) == len(others.shared) == len(others.tasks) == 1
    return others, other_prefixes(connection, run.cluster_id, run.code_id, run.start, run.stop)


def _new_errors(connection: psycopg.Connection, runs: list[Run]) -> Any:
    data = WindowData(connection, runs[0].cluster, START, START + STEPS * STEP + 3_600)
    found = judged_runs(data, RunCondition(Measure.NEW_ERRORS, earlier=5, fewest=1, window=600.0))
    assert [run.text for run in found][1] == "etl: no error that the last 1 runs didn't have"
    return [(each.run.pk, str(each.value), each.text) for each in found]


def _logs(connection: psycopg.Connection, runs: list[Run]) -> Any:
    run = runs[0]
    assert run.stop is not None
    logs = LogsOfRun(Identity(run), Resources(run, processes(connection, run.cluster_id)))
    filters = ErrorFilter(start=run.start, stop=run.stop)
    window = Scope(run.cluster, start=round(START * 1e6), stop=round(run.stop.timestamp() * 1e6))
    requests = [
        *logs.of_errors(connection, run.cluster_id, filters, [], True),
        *logs.of_lines(connection, window),
    ]
    assert logs.errors == STEPS // 25 // 2
    assert logs.lines == MOST_LINES
    return sorted(
        record.SerializeToString()
        for request in requests
        for of_process in request.resource_logs
        for records in of_process.scope_logs
        for record in records.log_records
    )


MOST_LINES = 4 * 60 + 1
"""those of 60 steps"""
READS: dict[str, Callable[[psycopg.Connection, list[Run]], Any]] = {
    "others' work": _others,
    "new errors": _new_errors,
    "logs": _logs,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_what_runs_need_is_found_in_files(
    read: Callable[[psycopg.Connection, list[Run]], Any],
    connection: psycopg.Connection,
    runs: list[Run],
    folder: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(otlp_logs, "MOST_LINES", MOST_LINES)
    monkeypatch.setattr(otlp_logs, "RECORDS_AT_ONCE", 1_000)
    cluster = runs[0].cluster_id
    with connect_reader() as reader:
        expected = read(reader, runs)
        archive_round(seconds=3_600)
        assert remove_unused(connection, cluster) > 0
        removed = presence.removed_kinds(connection, cluster)
        assert {"error", "log", "event", "computation", "task"} <= set(removed)
        assert read(reader, runs) == expected
    assert presence.removed_kinds(connection, cluster) == removed
