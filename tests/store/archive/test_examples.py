"""The examples of docs/archive.md."""

from __future__ import annotations

import re
from pathlib import Path

import dask
import duckdb
import pytest

from observatory.clusters.models import Cluster
from observatory.store.archive.place import Place
from observatory.store.archive.rounds.archiving import archive_cluster

PAGE = Path(__file__).parents[3] / "docs/archive.md"
EXAMPLES = dict(re.findall(r"```python\n# (\w+)\n(.*?)```", PAGE.read_text(), re.DOTALL))
SHOWN = {"pandas": "load", "Polars": "distributed.core", "Dask": "dask_scheduler_tasks_total"}


[QUERY] = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_there_are_examples() -> None:
    assert EXAMPLES.keys() == SHOWN.keys()


@pytest.mark.parametrize("tool", SHOWN)
def test_the_example_works(
    tool: str,
    cluster: Cluster,
    place: Place,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    archive_cluster(cluster.pk, place)
    monkeypatch.chdir(folder)
    with dask.config.set(scheduler="threads"):  # and not that of a client of another test
        exec(compile(EXAMPLES[tool], f"{PAGE.name}, {tool}", "exec"), {})
    assert SHOWN[tool] in capsys.readouterr().out


def test_the_example_for_duckdb_works(
    cluster: Cluster, place: Place, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive_cluster(cluster.pk, place)
    monkeypatch.chdir(folder)
    found = duckdb.sql(QUERY).fetchall()
    assert ("over-the-edge", 1, 10.0) in [row[1:] for row in found]
    assert {row[0] for row in found} == {cluster.scheduler_id}


def test_duckdb_finds_a_task_a_series_and_a_time_in_the_files_of_others(
    cluster: Cluster, place: Place, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive_cluster(cluster.pk, place)
    monkeypatch.chdir(folder)
    [(count,)] = duckdb.sql(
        "SELECT count(*) FROM 'transition/**/*.parquet' "
        "WHERE key = '(''sum-0a1b'', 0, 3)' AND finish = 'memory'"
    ).fetchall()
    assert count == 4
    [(bloomed,)] = duckdb.sql(
        "SELECT count(*) FROM parquet_metadata('span/**/*.parquet') "
        "WHERE path_in_schema = 'key' AND bloom_filter_offset IS NOT NULL"
    ).fetchall()
    assert bloomed == 1
