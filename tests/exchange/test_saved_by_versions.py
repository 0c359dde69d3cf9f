"""Cluster dumps and task streams of each quarter's Dask are imported as the clusters were that saved them.

`dumps/` has what real clusters of the versions in the names saved after work of dask.array and
dask.dataframe, whose keys are tuples, with an integer for a key and tasks that failed, and beside each what
its scheduler counted at that time.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest

from observatory.exchange.imports.destination import Destination
from observatory.exchange.imports.import_file import import_file
from observatory.runs.models import Run
from observatory.wire.records import TASK_STATES, Action
from tests.exchange.files import KEY
from tests.exchange.hostile import nothing
from tests.support.projects import HOSTILE, World

FOLDER = Path(__file__).with_name("dumps")
DUMPS = sorted([*FOLDER.glob("*.msgpack.gz"), *FOLDER.glob("*.yaml.gz")])
STREAMS = sorted(FOLDER.glob("*.stream.json.gz"))
STATES = f"('{{{','.join(TASK_STATES)}}}'::text[])"
GROUP = "JOIN task_group ON task_group.id = group_id"
NEEDED = "replace(depends_on_rest, U&'\\0001', needed.name)"


def told(path: Path) -> Any:
    """What the scheduler of a file counted."""
    version = path.name.split(".msgpack")[0].split(".yaml")[0].split(".stream")[0]
    return json.loads(gzip.decompress((FOLDER / f"{version}.told.json.gz").read_bytes()))


def imported(path: Path, world: World) -> Run:
    reports: list[str] = []
    run = import_file(path, Destination(world.alpha), nothing, reports.append)
    assert reports == []
    return run


def rows(connection: psycopg.Connection, run: Run, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query.encode(), [run.cluster_id]).fetchall()


def test_each_quarter_since_2023_has_its_version() -> None:
    versions = {path.name.removesuffix(".msgpack.gz") for path in FOLDER.glob("*.msgpack.gz")}
    quarters = {
        (int(year), (int(month) + 2) // 3) for year, month, _ in (each.split(".") for each in versions)
    }
    assert quarters >= {(year, quarter) for year in (2023, 2024, 2025) for quarter in (1, 2, 3, 4)} - {
        (2025, 2)
    }
    assert (2026, 1) in quarters
    assert len({path.name for path in FOLDER.glob("*.yaml.gz")}) >= 4
    assert {path.name.removesuffix(".stream.json.gz") for path in STREAMS} == versions


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.name.removesuffix(".gz"))
def test_a_dump_has_the_tasks_transitions_and_errors_of_its_scheduler(
    path: Path, world: World, connection: psycopg.Connection
) -> None:
    counted = told(path)
    run = imported(path, world)
    tasks = rows(
        connection,
        run,
        f"""SELECT {KEY}, prefix.name, task_group.name FROM task {GROUP}
            JOIN prefix ON prefix.id = task_group.prefix_id WHERE task.cluster_id = %s""",
    )
    assert sorted(tasks) == sorted((key, prefix, group) for key, prefix, group, _ in counted["tasks"])
    transitions = rows(
        connection,
        run,
        f"""SELECT {KEY}, {STATES}[start + 1], {STATES}[finish + 1] FROM transition {GROUP}
            WHERE transition.cluster_id = %s""",
    )
    assert Counter(transitions) == Counter(tuple(each) for each in counted["transitions"])
    edges = rows(
        connection,
        run,
        f"""SELECT {KEY}, {NEEDED} FROM dependency {GROUP}
            JOIN task_group needed ON needed.id = depends_on_group_id WHERE dependency.cluster_id = %s""",
    )
    assert sorted(edges) == sorted(tuple(each) for each in counted["edges"])
    errors = rows(
        connection, run, f"SELECT {KEY}, message, traceback FROM error {GROUP} WHERE error.cluster_id = %s"
    )
    assert sorted(key for key, *_ in errors) == counted["erred"]
    broken = {key: message for key, message, traceback in errors if "in broken" in traceback}
    assert len(broken) == 4
    assert set(broken.values()) == {f"boom {HOSTILE} in a block"}
    # 2023.3 fails in a task of dask.dataframe itself
    assert all("Serialize" in message for key, message, _ in errors if key not in broken)
    workers = rows(connection, run, "SELECT address FROM worker WHERE cluster_id = %s")
    assert sorted(address for (address,) in workers) == counted["workers"]
    assert run.outcome == "erred"
    assert run.stop is not None
    at = run.stop.timestamp() - 0.5
    state = world.client("viewer").get(f"/api/v1/clusters/{run.cluster_id}/state?at={at}").json()
    assert {name: count for name, count in state["tasks"].items() if count} == counted["states"]


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.name.removesuffix(".stream.json.gz"))
def test_a_task_stream_has_the_spans_of_its_scheduler(
    path: Path, world: World, connection: psycopg.Connection
) -> None:
    run = imported(path, world)
    spans = rows(
        connection,
        run,
        f"""SELECT {KEY}, worker.address, action FROM span {GROUP}
            JOIN lane ON lane.id = lane_id JOIN worker ON worker.id = lane.worker_id
            WHERE span.cluster_id = %s""",
    )
    found = sorted([key, worker, Action(action).label] for key, worker, action in spans)
    assert found == told(path)["stream"]
