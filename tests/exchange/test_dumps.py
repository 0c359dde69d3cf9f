"""Real cluster dumps of Dask become clusters: last state, stories of tasks, errors, transfers and logs."""

from __future__ import annotations

import gzip
import json
from ast import literal_eval
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask.array as da
import msgpack
import psycopg
import pytest
from distributed import Client, LocalCluster, wait
from django.urls import reverse

from observatory.exchange.imports.allowance import Allowance
from observatory.exchange.imports.cluster_dump_records import records_of
from observatory.exchange.imports.destination import Destination
from observatory.exchange.imports.import_file import import_file
from observatory.exchange.imports.refusal import AlreadyHere
from observatory.exchange.models import Job
from observatory.runs.models import Run
from observatory.wire.records import TASK_STATES
from tests.exchange.files import KEY, Store
from tests.support.projects import World


def inc(x: int) -> int:
    return x + 1


def fail(x: int) -> int:
    raise ValueError(f"boom {x}")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a dump in both formats and a list of the task stream, of 10 tasks, one of which erred."""
    folder = tmp_path_factory.mktemp("saved")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        client.get_task_stream()  # from now on the scheduler keeps it
        parts = client.map(inc, range(8), pure=False)
        total = client.submit(sum, parts, key="total-1")
        failed = client.submit(fail, 3, key="fail-1")
        needs = client.submit(inc, failed, key="needs-1")
        assert total.result() == 36
        with pytest.raises(ValueError, match="boom"):
            needs.result()
        for format in ("msgpack", "yaml"):
            client.dump_cluster_state(str(folder / "dump"), format=format)
        tasks = client.get_task_stream()
        (folder / "tasks.json").write_text(json.dumps(tasks, default=str))
    return folder


def broken(block: Any) -> Any:
    raise ValueError("boom in a block")


@dataclass(frozen=True)
class Collections:
    """What is saved of computations of dask.array, whose keys are tuples, and how Dask names its tasks."""

    folder: Path
    names: dict[str, tuple[str, str]]
    """prefix and group by the text of the key"""
    edges: set[tuple[str, str]]
    transitions: list[tuple[str, str, str]]
    streamed: list[str]
    """keys of the task stream"""


@pytest.fixture(scope="module")
def collections(tmp_path_factory: pytest.TempPathFactory) -> Collections:
    folder = tmp_path_factory.mktemp("collections")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        client.get_task_stream()
        array = da.random.random((40, 40), chunks=(10, 10))
        sums = array.sum(axis=0).persist()
        wait(sums)
        # Dask can't dump groups that are named by a number or a tuple, such as that of (7, 1)
        ones = [client.submit(inc, 1, key=key) for key in (1, "1", ("sum-agg", 0), 2.5, "it's one")]
        wait(ones)
        needs = client.submit(sum, ones, key=("needs-1", ("b", 2)))
        wait(needs)
        erred = array.map_blocks(broken, dtype=float, meta=array._meta).persist()
        wait(erred)
        for format in ("msgpack", "yaml"):
            client.dump_cluster_state(str(folder / "dump"), format=format)
        stream = client.get_task_stream()
        (folder / "tasks.json").write_text(json.dumps(stream, default=str))
        scheduler = cluster.scheduler
        tasks = scheduler.tasks.values()
        return Collections(
            folder,
            {repr(task.key): (str(task.prefix.name), str(task.group.name)) for task in tasks},
            {(str(task.key), str(needed.key)) for task in tasks for needed in task.dependencies},
            [(str(key), *states) for key, *states in (entry[:3] for entry in scheduler.transition_log)],
            [str(task["key"]) for task in stream],
        )


def nothing(done: float) -> None:
    pass


@pytest.fixture(params=["dump.msgpack.gz", "dump.yaml"])
def imported(
    request: pytest.FixtureRequest, saved: Path, connection: psycopg.Connection, world: World
) -> Run:
    reports: list[str] = []
    run = import_file(saved / request.param, Destination(world.alpha), nothing, reports.append)
    assert reports == []
    return run


def test_a_dump_becomes_a_cluster_that_ended_with_one_run(imported: Run) -> None:
    cluster = imported.cluster
    assert not cluster.is_live
    assert cluster.address.startswith("inproc://")
    assert (imported.origin, imported.outcome, imported.pinned) == ("imported", "erred", True)
    assert imported.name.startswith("Dump of 20")
    assert Run.objects.filter(cluster=cluster).count() == 1


def test_its_last_state_can_be_looked_at(imported: Run, world: World) -> None:
    assert imported.stop is not None
    at = imported.stop.timestamp() - 0.5
    state = world.client("viewer").get(f"/api/v1/clusters/{imported.cluster_id}/state?at={at}").json()
    tasks = {name: count for name, count in state["tasks"].items() if count}
    assert tasks == {"memory": 9, "erred": 2}
    assert [worker["status"] for worker in state["workers"]] == ["running", "running"]
    assert all(worker["memory"] > 1e6 for worker in state["workers"])
    assert {item["name"]: item["done"] for item in state["progress"]}["inc"] == 8


def test_the_story_of_a_task_is_told(imported: Run, world: World) -> None:
    page = world.client("viewer").get(f"/clusters/{imported.cluster_id}/tasks/?key=total-1").content.decode()
    for state in ("released", "waiting", "processing", "memory"):
        assert state in page
    assert "inc-" in page  # what it needs


def test_its_error_is_told_with_the_traceback_and_how_many_tasks_it_took_along(
    imported: Run, connection: psycopg.Connection
) -> None:
    rows = connection.execute(
        """SELECT exception_type, message, traceback, dependents, outcome, worker_id IS NOT NULL FROM error
           WHERE cluster_id = %s""",
        [imported.cluster_id],
    ).fetchall()
    ((kind, message, traceback, dependents, outcome, has_worker),) = rows
    assert (kind, message, dependents, outcome, has_worker) == ("ValueError", "boom 3", 1, "erred", True)
    assert "in fail" in traceback


def test_its_spans_transfers_and_logs_are_there(imported: Run, connection: psycopg.Connection) -> None:
    def count(query: str) -> int:
        row = connection.execute(query.encode(), [imported.cluster_id]).fetchone()
        assert row is not None
        return int(row[0])

    assert count("SELECT count(*) FROM span WHERE cluster_id = %s AND action = 0") >= 9
    assert count("SELECT count(*) FROM transfer WHERE cluster_id = %s AND direction = 0") >= 1
    assert count("SELECT count(*) FROM log WHERE cluster_id = %s AND message LIKE '%%Compute Failed%%'") >= 1
    outside = """SELECT count(*) FROM log JOIN extent USING (cluster_id)
                 WHERE cluster_id = %s AND time NOT BETWEEN first AND last"""
    assert count(outside) == 0
    # spans of a lane don't overlap, as a thread does one thing at a time
    overlaps = """SELECT count(*) FROM span a JOIN span b ON a.lane_id = b.lane_id AND a.start < b.start
                  AND b.start < a.stop WHERE a.cluster_id = %s"""
    assert count(overlaps) == 0


def test_the_pages_of_it_open(imported: Run, world: World) -> None:
    for page in ("", "errors/", "logs/"):
        answer = world.client("viewer").get(f"/clusters/{imported.cluster_id}/{page}")
        assert answer.status_code == 200
        assert b"without an agent" not in answer.content


def test_the_same_dump_twice_is_there_already(
    imported: Run, saved: Path, world: World, store: Store, request: pytest.FixtureRequest
) -> None:
    before = store.counts()
    with pytest.raises(AlreadyHere) as refusal:
        import_file(saved / request.node.callspec.params["imported"], Destination(world.alpha), nothing)
    assert refusal.value.run == imported.pk
    assert store.counts() == before


def test_a_name_of_ones_own_takes_the_place_of_the_dumps(
    saved: Path, world: World, connection: psycopg.Connection
) -> None:
    destination = Destination(world.alpha, name="the night it broke")
    assert import_file(saved / "dump.msgpack.gz", destination, nothing).name == "the night it broke"


def test_a_saved_task_stream_becomes_spans(saved: Path, world: World, connection: psycopg.Connection) -> None:
    run = import_file(saved / "tasks.json", Destination(world.alpha), nothing)
    spans = connection.execute(
        """SELECT name, count(*), min(status) FROM span JOIN prefix ON prefix.id = prefix_id
           WHERE span.cluster_id = %s AND action = 0 GROUP BY name ORDER BY name""",
        [run.cluster_id],
    ).fetchall()
    assert spans == [("fail", 1, 1), ("inc", 8, 0), ("total", 1, 0)]
    assert run.name.startswith("Task stream of 20")
    recorded = world.client("viewer").get(f"/api/v1/clusters/{run.cluster_id}").json()
    assert (recorded["task_count"], recorded["worker_count"]) == (10, 2)


def test_dumps_of_older_versions_with_their_events_are_read() -> None:
    """Before 2023, topics came as lists of (time, message), and transitions had no stimulus."""
    dump: dict[str, Any] = {
        "scheduler": {
            "id": "Scheduler-1",
            "started": 1.6e9,
            "workers": {
                "tcp://a:1": {"nthreads": 2, "status": "<Status.paused: 'paused'>", "last_seen": 1.6e9 + 9}
            },
            "events": {"tcp://a:1": [[1.6e9 + 2, {"action": "heartbeat"}]], "mine": [[1.6e9 + 3, "said"]]},
            "transition_log": [["('x', 0)", "waiting", "processing", {}, 1.6e9 + 1]],
            "tasks": {},
        },
        "workers": {"tcp://a:1": "OSError('it did not answer')"},
    }
    recorded, run, cluster = records_of(dump, Allowance(2**20))
    assert [row[3] and json.loads(row[3])["message"] for row in recorded.rows["event"]] == [
        "tcp://a:1: heartbeat",
        "mine: said",
    ]
    assert recorded.rows["transition"] == [(1.6e9 + 1, "('x', 0)", "waiting", "processing", "", "")]
    assert recorded.rows["worker"][0][6] == "paused"
    assert (run.start, run.stop, cluster.scheduler_id) == (1.6e9 + 1, 1.6e9 + 10, "Scheduler-1")


def test_log_lines_in_local_time_are_brought_into_the_dumps_time() -> None:
    line = "2020-09-13 14:26:42,500 - distributed.worker - WARNING - it is warm\nindeed"
    dump: dict[str, Any] = {
        "scheduler": {"started": 1.6e9, "workers": {"tcp://a:1": {"last_seen": 1.6e9 + 9}}, "tasks": {}},
        "workers": {"tcp://a:1": {"logs": [["WARNING", line]]}},
    }
    recorded, _, _ = records_of(dump, Allowance(2**20))
    # 14:26:42 in a zone two hours ahead of UTC
    assert recorded.rows["log"] == [
        (1.6e9 + 2.5, "worker", "tcp://a:1", 30, "distributed.worker", "it is warm\nindeed", "", 0)
    ]


def test_a_dump_is_known_by_what_is_in_it_and_not_by_its_name(
    saved: Path, tmp_path: Path, world: World, connection: psycopg.Connection
) -> None:
    plain = tmp_path / "picture.png"
    plain.write_bytes(gzip.decompress((saved / "dump.msgpack.gz").read_bytes()))
    assert import_file(plain, Destination(world.alpha), nothing).origin == "imported"


def test_records_that_are_left_out_are_counted_in_the_imports_result(
    tmp_path: Path, world: World, connection: psycopg.Connection
) -> None:
    tasks = {
        f"task-{number}": {"state": "memory", "annotations": {"number": number, "lists": [[]] * 4_000}}
        for number in range(30)
    }
    workers = {"tcp://a:1": {"nthreads": 2, "last_seen": 1.6e9 + 9}}
    dump = {"scheduler": {"started": 1.6e9, "workers": workers, "tasks": tasks}, "workers": {}}
    (tmp_path / "dump.msgpack").write_bytes(msgpack.packb(dump))
    reports: list[str] = []
    run = import_file(tmp_path / "dump.msgpack", Destination(world.alpha), nothing, reports.append)
    of_run = "SELECT count(*) FROM task WHERE cluster_id = %s"
    assert connection.execute(of_run, [run.cluster_id]).fetchone() == (24,)
    [report] = reports
    assert report == (
        "6 records of the file were left out (6 tasks): they are not valid, or a column of their kind has "
        "more than 100,000 JSON objects and lists."
    )
    job = Job.objects.create(
        kind=Job.Kind.IMPORT,
        state=Job.State.DONE,
        user=world.people["editor"],
        project=world.alpha,
        run=run,
        file_name="dump.msgpack",
        message=report,
    )
    assert report in world.client("editor").get(reverse("job", args=[job.pk])).content.decode()


NEEDED = "replace(depends_on_rest, U&'\\0001', needed.name)"


@pytest.mark.parametrize("file", ["dump.msgpack.gz", "dump.yaml"])
def test_keys_of_collections_and_numbers_are_those_of_the_cluster_that_was_dumped(
    collections: Collections, world: World, connection: psycopg.Connection, file: str
) -> None:
    reports: list[str] = []
    run = import_file(collections.folder / file, Destination(world.alpha), nothing, reports.append)
    assert reports == []

    def rows(query: str) -> list[tuple[Any, ...]]:
        return connection.execute(query.encode(), [run.cluster_id]).fetchall()

    group = "JOIN task_group ON task_group.id = group_id"
    states = f"('{{{','.join(TASK_STATES)}}}'::text[])"
    assert Counter(
        rows(
            f"""SELECT {KEY}, {states}[start + 1], {states}[finish + 1] FROM transition {group}
                WHERE transition.cluster_id = %s"""
        )
    ) == Counter(collections.transitions)
    assert {
        *rows(
            f"""SELECT {KEY}, {NEEDED} FROM dependency {group}
                JOIN task_group needed ON needed.id = depends_on_group_id WHERE dependency.cluster_id = %s"""
        )
    } == collections.edges
    named = rows(
        f"""SELECT {KEY}, prefix.name, task_group.name FROM task {group}
            JOIN prefix ON prefix.id = task_group.prefix_id WHERE task.cluster_id = %s"""
    )
    expected = [(str(literal_eval(key)), *names) for key, names in collections.names.items()]
    assert sorted(named) == sorted(expected)
    errors = rows(
        f"""SELECT prefix.name, message, traceback FROM error {group}
            JOIN prefix ON prefix.id = task_group.prefix_id WHERE error.cluster_id = %s"""
    )
    assert len(errors) == 16
    assert {(prefix.endswith("broken"), message) for prefix, message, _ in errors} == {
        (True, "boom in a block")
    }
    assert all("in broken" in traceback for *_, traceback in errors)
    transferred = rows("SELECT jsonb_object_keys(keys) FROM transfer WHERE cluster_id = %s")
    assert {key for (key,) in transferred} <= {key for key, *_ in named}


def test_keys_of_a_saved_task_stream_are_those_of_dask(
    collections: Collections, world: World, connection: psycopg.Connection
) -> None:
    run = import_file(collections.folder / "tasks.json", Destination(world.alpha), nothing)
    stored = connection.execute(
        f"""SELECT {KEY}, prefix.name, task_group.name FROM span JOIN task_group ON task_group.id = group_id
            JOIN prefix ON prefix.id = span.prefix_id
            WHERE span.cluster_id = %s AND action = 0""".encode(),
        [run.cluster_id],
    ).fetchall()
    assert {key for key, *_ in stored} == {*collections.streamed}
    known = {(str(literal_eval(key)), *names) for key, names in collections.names.items()}
    still_there = {text for text, *_ in known}
    assert {name for name in stored if name[0] in still_there} <= known
    assert {"1", "('needs-1', ('b', 2))"} <= {key for key, *_ in stored}
