"""SQL over rows of the tables and files of the archive."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from observatory.clusters.models import Cluster
from observatory.store.archive import presence
from observatory.store.archive.rounds.round import archive_round
from observatory.store.sql import query as sql_query
from observatory.store.sql.limits import Limits
from observatory.store.sql.query import QueryRefused, run_query
from observatory.store.sql.sources import QueryScope, TooManyRows
from observatory.store.sql.tables import record_tables
from observatory.store.times import from_seconds
from tests.exchange.everything import START, STOP, write_everything
from tests.store.archive.conftest import cluster, connection, folder, remove_unused
from tests.support.projects import HOSTILE, World, world

__all__ = ["cluster", "connection", "folder", "world"]

LIMITS = Limits(seconds=120, memory=256, rows_read=100_000, rows=1_000)
LARGE = "SELECT sum(a.range * b.range) FROM range(10_000_000) a, range(10_000_000) b"


def seen(*clusters: Cluster) -> QueryScope:
    return QueryScope({cluster.pk: (cluster.project.slug, cluster.scheduler_id) for cluster in clusters})


def rows(query: str, scope: QueryScope, limits: Limits = LIMITS) -> list[dict[str, object]]:
    return run_query(query, scope, limits).rows.to_pylist()


def everything(scope: QueryScope) -> dict[str, list[str]]:
    """All rows of all tables of records, as text."""
    tables = [table.name for table in record_tables()]
    query = " UNION ALL ".join(
        f"SELECT '{name}' AS name, {name}::VARCHAR AS row FROM {name}" for name in tables
    )
    found: dict[str, list[str]] = {name: [] for name in tables}
    for row in rows(query, scope):
        found[str(row["name"])].append(str(row["row"]))
    return {name: sorted(each) for name, each in found.items()}


def test_the_rows_of_a_table_are_the_same_from_the_database_and_from_the_archive(
    cluster: Cluster, connection: psycopg.Connection, folder: Path
) -> None:
    scope = seen(cluster)
    before = everything(scope)
    assert all(before.values())
    archive_round()
    remove_unused(connection, cluster.pk)
    removed = presence.removed_kinds(connection, cluster.pk)
    assert "span" in removed
    assert everything(scope) == before
    assert presence.removed_kinds(connection, cluster.pk) == removed, "nothing was brought back"


def test_archived_and_other_clusters_are_read_together(
    cluster: Cluster, connection: psycopg.Connection, folder: Path, world: World
) -> None:
    archive_round()
    write_everything(world.live.pk)
    found = rows(
        "SELECT cluster, count(*) AS spans FROM spans GROUP BY cluster ORDER BY cluster",
        seen(cluster, world.live),
    )
    assert found == [
        {"cluster": each.scheduler_id, "spans": 13}
        for each in sorted((cluster, world.live), key=lambda each: each.scheduler_id)
    ]


def test_records_that_came_after_the_archiving_are_found(
    cluster: Cluster, connection: psycopg.Connection, folder: Path
) -> None:
    archive_round()
    remove_unused(connection, cluster.pk)
    write_everything(cluster.pk)
    assert rows("SELECT count(*) AS spans FROM spans", seen(cluster)) == [{"spans": 26}]


@pytest.mark.parametrize("is_archived", [False, True])
def test_a_window_leaves_other_records_out(
    cluster: Cluster, connection: psycopg.Connection, folder: Path, is_archived: bool
) -> None:
    if is_archived:
        archive_round()
    after, before = from_seconds(START + 1), from_seconds(STOP)
    scope = QueryScope(seen(cluster).clusters, after, before)
    found = rows("SELECT min(start) AS first, max(start) AS last, count(*) AS spans FROM spans", scope)[0]
    everywhere = rows("SELECT count(*) AS spans FROM spans", seen(cluster))[0]
    assert after <= found["first"] <= found["last"] < before  # type: ignore[operator]
    assert 0 < found["spans"] < everywhere["spans"]  # type: ignore[operator]


def test_tables_are_joined(cluster: Cluster, connection: psycopg.Connection) -> None:
    query = """
        WITH slow AS (SELECT cluster, worker_lifetime, max(stop - start) AS longest FROM spans GROUP BY ALL)
        SELECT w.name, epoch(longest) AS seconds FROM slow
        JOIN workers w ON w.lifetime = slow.worker_lifetime AND w.cluster = slow.cluster
        WHERE w.cluster IN (SELECT cluster FROM clusters) ORDER BY seconds DESC LIMIT 1"""
    assert rows(query, seen(cluster)) == [{"name": "w0", "seconds": 10.0}]


def test_a_cluster_out_of_scope_is_not_there(
    cluster: Cluster, connection: psycopg.Connection, folder: Path, world: World
) -> None:
    archive_round()
    for table in ("spans", "clusters", "workers", "stacks"):
        assert rows(f"SELECT * FROM {table}", seen()) == []
    assert rows("SELECT DISTINCT cluster FROM workers", seen(cluster)) == [{"cluster": cluster.scheduler_id}]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_text('/proc/self/environ')",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM read_parquet('{folder}/span/a.parquet')",
        "SELECT * FROM 'https://example.com/x.parquet'",
        "SELECT * FROM sniff_csv('/etc/passwd')",
        "COPY (SELECT 1) TO '{folder}/x'",
        "ATTACH '{folder}/x.db'",
        "INSTALL httpfs",
        "LOAD '{folder}/x.so'",
        "SET enable_external_access = true",
        "PRAGMA database_list",
        "CREATE TABLE x AS SELECT 1",
        "EXPORT DATABASE '{folder}/x'",
        "SELECT 1; SELECT 2",
        "CALL pragma_version()",
        "SELECT getenv('HOME')",
        "SELECT * FROM given",
        "SELECT * FROM postgres_scan('', 'public', 'x')",
        "",
        "SELEC 1",
        f"SELECT '{HOSTILE}' FROM nowhere",
        "SELECT " + "(" * 5_000,
        "SELECT '" + "x" * 20_000 + "'",
    ],
)
def test_a_query_reaches_nothing_else(query: str, transactional_db: None, tmp_path: Path) -> None:
    (tmp_path / "span").mkdir()
    pq.write_table(pa.table({"a": [1]}), tmp_path / "span" / "a.parquet")
    with pytest.raises(QueryRefused) as refused:
        rows(query.format(folder=tmp_path), QueryScope({}))
    assert str(refused.value)
    assert not (tmp_path / "x").exists()


def test_the_process_has_no_secret_of_ours(monkeypatch: pytest.MonkeyPatch, transactional_db: None) -> None:
    monkeypatch.setenv("OBSERVATORY_SECRET_KEY", "of this installation")
    given: list[dict[str, str]] = []
    start = sql_query.subprocess.Popen

    class Noted(start):  # type: ignore[misc,valid-type]
        def __init__(self, *arguments: object, env: dict[str, str], **options: object) -> None:
            given.append(env)
            super().__init__(*arguments, env=env, **options)

    monkeypatch.setattr(sql_query.subprocess, "Popen", Noted)
    assert rows("SELECT 1 AS one", QueryScope({})) == [{"one": 1}]
    assert given
    assert not [name for env in given for name in env if name.startswith(("OBSERVATORY", "DJANGO", "PG"))]
    assert os.environ["OBSERVATORY_SECRET_KEY"]


def test_a_query_that_takes_too_long_is_ended(transactional_db: None) -> None:
    limits = Limits(seconds=6, memory=256, rows_read=1, rows=1)
    with pytest.raises(QueryRefused, match="takes longer than 6 s"):
        rows(LARGE, QueryScope({}), limits)


def test_a_query_that_takes_too_much_memory_is_refused(transactional_db: None) -> None:
    limits = Limits(seconds=120, memory=64, rows_read=1, rows=1)
    query = "SELECT list(repeat(range::VARCHAR, 100)) FROM range(30_000_000)"
    with pytest.raises(QueryRefused, match="takes more memory than it may"):
        rows(query, QueryScope({}), limits)


def test_more_rows_than_an_answer_may_have_are_left_out_and_said(transactional_db: None) -> None:
    limits = Limits(seconds=120, memory=256, rows_read=1, rows=7)
    result = run_query("FROM range(10_000)", QueryScope({}), limits)
    assert (result.rows.num_rows, result.has_more) == (7, True)
    whole = run_query("FROM range(7)", QueryScope({}), limits)
    assert (whole.rows.num_rows, whole.has_more) == (7, False)


def test_more_rows_of_the_database_than_may_be_read_are_refused_with_what_to_do(
    cluster: Cluster, connection: psycopg.Connection, folder: Path
) -> None:
    limits = Limits(seconds=120, memory=256, rows_read=5, rows=1_000)
    with pytest.raises(TooManyRows, match="more than 5 rows of the database: choose clusters"):
        rows("SELECT count(*) FROM spans", seen(cluster), limits)
    archive_round()
    assert rows("SELECT count(*) AS spans FROM spans", seen(cluster), limits) == [{"spans": 13}]


def test_nothing_is_left_in_the_folder_of_temporary_files(
    cluster: Cluster, connection: psycopg.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_query.tempfile, "tempdir", str(tmp_path))
    rows("SELECT count(*) FROM spans", seen(cluster))
    with pytest.raises(QueryRefused):
        rows("SELECT nothing FROM spans", seen(cluster))
    assert list(tmp_path.iterdir()) == []


def test_times_are_in_utc(cluster: Cluster, connection: psycopg.Connection) -> None:
    found = rows("SELECT min(date_trunc('day', start)) AS day FROM spans", seen(cluster))[0]
    assert found["day"].utcoffset() == timedelta(0)  # type: ignore[attr-defined]
    assert found["day"].hour == 0  # type: ignore[attr-defined]
