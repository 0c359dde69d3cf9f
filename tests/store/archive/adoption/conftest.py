"""A cluster with a run of which everything is known, and the archive of a database that was lost."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from observatory.clusters.models import Cluster, Project
from observatory.runs.models import (
    Attachment,
    FindingMark,
    Note,
    Run,
    RunDiscovery,
    RunError,
    RunExplanation,
    RunFindings,
    Usage,
)
from observatory.runs.refresh import refresh_figures
from observatory.store.archive import needed
from observatory.store.archive.files.run_tables import RUN_TABLES
from observatory.store.archive.rounds.round import archive_round
from observatory.store.times import from_seconds
from observatory.wire.kinds import stored_kinds
from tests.exchange.everything import START, STOP

KINDS = [kind.name for kind in stored_kinds()]
TABLES = (
    "worker",
    "lane",
    "prefix",
    "task_group",
    "typename",
    "series",
    "stack",
    "agent",
    "hole",
    "keyframe",
    "tile",
    "extent",
    *(table.table for table in RUN_TABLES if not table.is_of_run),
)
OF_RUNS = tuple(table.table for table in RUN_TABLES if table.is_of_run)
NOT_ARCHIVED = ("target_id", "agent_silent", "collector_behind", "project_id", "created_by_id", "author_id")
"""what refers to users and to how it was observed"""
LOST = (
    *TABLES,
    *OF_RUNS,
    *KINDS,
    "clusters_cluster",
    "clusters_project",
    "archive_piece",
    "archived_cluster",
    "archived_rows",
)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needed, "REMEMBERED", 0.0)


@pytest.fixture
def run(connection: psycopg.Connection, cluster: Cluster) -> Run:
    """With everything that is known of runs."""
    run = Run.objects.create(
        cluster=cluster,
        name="nightly, “quoted”\n",
        origin=Run.Origin.CODE,
        outcome=Run.Outcome.FINISHED,
        start=from_seconds(START),
        stop=from_seconds(STOP),
        code_id=uuid.uuid4(),
        tags={"git": "3f2a\\1c", "ü": "\t"},
        code="print('\\N')",
        pinned=True,
    )
    refresh_figures(run)
    now = datetime.now(UTC)
    RunError.objects.create(
        run=run,
        exception_type="ValueError",
        place="f",
        prefix="sum",
        count=3,
        first=now,
        last=now,
        last_id="0f0e0d0c-0b0a-0908-0706-050403020101",
        deaths={"lost": 1},
    )
    RunFindings.objects.create(run=run, state="found", counted=now, kind="gc", sentence="s", all=[{"a": 1}])
    FindingMark.objects.create(
        project=cluster.project, run=run, run_name=run.name, kind="gc", prefixes=["ü"], marked_as="known"
    )
    RunExplanation.objects.create(run=run, counted=now, answers={"findings": [1, 2]})
    [worker] = connection.execute(
        "SELECT min(id) FROM worker WHERE cluster_id = %s", [cluster.pk]
    ).fetchone() or [0]
    Attachment.objects.create(
        run=run,
        name="p.json",
        format="trace",
        digest="d",
        start=now,
        seconds=2.5,
        threads=[{"process": "1", "worker": worker}],
        stacks=bytes(range(256)),
    )
    Usage.objects.create(cluster=cluster, run=run, day=date(2026, 9, 1), until=now, thread_seconds=0.1)
    Usage.objects.create(cluster=cluster, run=None, day=date(2026, 9, 1), until=now, tasks=2**40)
    Note.objects.create(cluster=cluster, time=now, text="<b>look</b>")
    RunDiscovery.objects.create(cluster=cluster, records=9, looked=now)
    connection.execute(
        """INSERT INTO keyframe (cluster_id, time, until, prefixes, counts, seconds)
           SELECT %(cluster)s, now(), now(), array_agg(id ORDER BY name DESC), '{1,2}', '{0.5}'
           FROM prefix WHERE cluster_id = %(cluster)s""",
        {"cluster": cluster.pk},
    )
    connection.execute("INSERT INTO tile VALUES (%s, 'spans', 3, 77, 1, %s)", [cluster.pk, bytes(range(256))])
    connection.execute("INSERT INTO hole VALUES (%s, now() - interval '3 days', now())", [cluster.pk])
    return run


def stored_rows(connection: psycopg.Connection, cluster: int, records: bool = True) -> dict[str, list[Any]]:
    """All rows of a cluster, by table, as JSON."""
    found = {}
    for table in (*TABLES, *(KINDS if records else ()), *OF_RUNS):
        condition = (
            "run_id IN (SELECT id FROM runs_run WHERE cluster_id = %s)"
            if table in OF_RUNS
            else "cluster_id = %s"
        )
        rows = connection.execute(f"SELECT to_jsonb(stored) FROM {table} stored WHERE {condition}", [cluster])
        found[table] = sorted(json.dumps(archived_row(table, row), sort_keys=True) for (row,) in rows)
    row = connection.execute(
        "SELECT to_jsonb(cluster) FROM clusters_cluster cluster WHERE id = %s", [cluster]
    ).fetchone()
    assert row is not None
    found["cluster"] = [archived_row("cluster", row[0])]
    return found


def archived_row(table: str, row: dict[str, Any]) -> dict[str, Any]:
    own = () if table in (*TABLES[:7], "cluster", "agent", "runs_run") else ("id",)
    return {name: value for name, value in row.items() if name not in (*NOT_ARCHIVED, *own)}


def lose(connection: psycopg.Connection) -> None:
    """Empty the database, as one that was just migrated."""
    connection.execute(f"TRUNCATE {', '.join(LOST)} RESTART IDENTITY CASCADE")
    needed.forget()


@pytest.fixture
def lost(
    connection: psycopg.Connection, cluster: Cluster, run: Run, folder: Path
) -> Iterator[dict[str, list[Any]]]:
    """What the lost database had of the cluster."""
    archive_round()
    stored = stored_rows(connection, cluster.pk)
    assert all(stored.values()), "the tests below could not fail"
    lose(connection)
    yield stored
    Project.objects.filter(slug__in=("alpha", "lab")).delete()
