"""`observatory.run` on a real LocalCluster."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import UUID

import dask
import pytest
from distributed import Client, Worker

import observatory
import observatory.agent
from observatory.clusters.models import Project
from observatory.clusters.tokens import ingest_tokens
from observatory.runs.models import Run
from observatory.runs.tasks import find_runs
from observatory.wire.client_code.submitted_code import frames_of_code
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, FakeServer
from tests.agent.runs.conftest import cluster
from tests.support.traces import ID, span

ROOT = Path(__file__).parents[3]
BLOCKED = 2.5
"""seconds; a client waits twice as long for its scheduler"""


def run_rows(received: FakeServer, count: int) -> list[dict[str, Any]]:
    """The first rows of kind `run`."""
    deadline = time.monotonic() + 120
    while len(received.rows["run"]) < count:
        assert time.monotonic() < deadline, received.rows["run"]
        time.sleep(0.05)
    return received.rows["run"]


def trust_the_workers_clock(dask_worker: Worker) -> None:
    """Dask shifts spans by a delay measured with a request's latency: half a second on a loaded machine."""
    dask_worker.periodic_callbacks["heartbeat"].stop()
    dask_worker.scheduler_delay = 0.0


def nightly_report(**arguments: Any) -> None:
    with observatory.run(**arguments):
        pass


def test_a_run_is_reported_when_it_starts_and_when_it_ends(observed: Client, received: FakeServer) -> None:
    observed.run(trust_the_workers_clock)
    before = time.time()
    with observatory.run("nightly etl", tags={"git": "3f2a1c", "attempt": 3}):
        assert [row["outcome"] for row in run_rows(received, 1)] == ["running"]
        observed.submit(sum, [1, 2]).result()
    begun, ended = run_rows(received, 2)
    assert (begun["name"], begun["tags"]) == ("nightly etl", {"git": "3f2a1c", "attempt": "3"})
    assert before <= begun["start"] == begun["time"] == ended["start"] < ended["time"] <= time.time()
    assert (ended["run"], ended["outcome"], ended["exception_type"]) == (begun["run"], "finished", "")
    [frame] = frames_of_code(begun["code"])
    assert frame.source.startswith("def test_a_run_is_reported_when_it_starts")
    assert 'observatory.run("nightly etl"' in frame.source.split("\n")[frame.calls[0] - frame.first]
    assert begun["user"]
    [span] = [row for row in received.rows["span"] if row["key"].startswith("sum")]
    assert begun["start"] <= span["start"] <= span["stop"] <= ended["time"]


def test_a_run_ends_when_its_block_does_however_late_the_scheduler_hears_of_it(
    observed: Client, received: FakeServer
) -> None:
    with observatory.run("etl"):
        blocked = threading.Event()

        def block() -> None:
            blocked.set()
            observed.run_on_scheduler(lambda dask_scheduler: time.sleep(BLOCKED))

        thread = threading.Thread(target=block)
        thread.start()
        blocked.wait()
        time.sleep(0.2)  # until the scheduler is blocked
        left = time.time()
    returned = time.time()
    thread.join()
    _, ended = run_rows(received, 2)
    # the scheduler heard of it when it was free again, just before the block returned
    assert left <= ended["time"] < left + (returned - left) / 2


def test_an_exception_marks_the_run_as_failed_and_is_raised_again(
    observed: Client, received: FakeServer
) -> None:
    with pytest.raises(KeyError), observatory.run("etl"):
        raise KeyError("gone")
    assert [(row["outcome"], row["exception_type"]) for row in run_rows(received, 2)] == [
        ("running", ""),
        ("erred", "KeyError"),
    ]


def test_a_script_that_exits_with_0_has_a_finished_run(observed: Client, received: FakeServer) -> None:
    with pytest.raises(SystemExit), observatory.run("etl"):
        sys.exit(0)
    assert run_rows(received, 2)[1]["outcome"] == "finished"


def test_run_accepts_the_arguments_of_performance_report(observed: Client, received: FakeServer) -> None:
    def job() -> None:
        nightly_report(stacklevel=2, mode="inline", storage_options={})

    nightly_report(filename="reports/monday.html")
    nightly_report(name="tuesday.html")
    nightly_report()
    job()
    assert [row["name"] for row in run_rows(received, 8)[::2]] == [
        "monday",
        "tuesday",
        "nightly_report",
        "job",
    ]
    assert "nightly_report(stacklevel=2" in received.rows["run"][6]["code"]
    assert not Path("reports").exists()


def test_async_with_works_with_a_client_of_the_loop_and_with_one_of_another_thread(
    observed: Client, received: FakeServer
) -> None:
    async def work() -> None:
        async with observatory.run("of another thread", client=observed):
            pass
        async with Client(observed.scheduler.address, asynchronous=True) as client:
            async with observatory.run("of the loop", client=client):
                await client.submit(sum, [1, 2])
            with observatory.run("in passing", client=client):
                pass
            await asyncio.sleep(0.5)

    asyncio.run(work())
    assert [(row["name"], row["outcome"]) for row in run_rows(received, 6)] == [
        (name, outcome)
        for name in ("of another thread", "of the loop", "in passing")
        for outcome in ("running", "finished")
    ]


def test_a_run_is_recorded_also_when_its_client_is_still_connecting(
    observed: Client, received: FakeServer
) -> None:
    async def work() -> None:
        client = Client(observed.scheduler.address, asynchronous=True)
        assert client.scheduler is None
        async with observatory.run("early", client=client):
            await client
        await client.close()

    asyncio.run(work())
    assert [(row["name"], row["outcome"]) for row in run_rows(received, 2)] == [
        ("early", "running"),
        ("early", "finished"),
    ]


def test_nested_runs_are_each_reported(observed: Client, received: FakeServer) -> None:
    with observatory.run("outer"), observatory.run("inner"):
        pass
    assert [row["name"] for row in run_rows(received, 4)] == ["outer", "inner", "inner", "outer"]


def test_a_run_and_the_span_around_it_know_each_other(observed: Client, received: FakeServer) -> None:
    with span() as made, observatory.run("nightly etl") as opened:
        observed.submit(abs, -1).result()
    assert run_rows(received, 2)[1]["tags"] == {"trace": ID, "trace_span": "00f067aa0ba902b7"}
    assert made.attributes == {"observatory.run.url": f"{received.url}/runs/code/{UUID(opened.id)}/"}


def test_a_client_that_is_killed_leaves_no_run_open(observed: Client, received: FakeServer) -> None:
    script = f"""
import os, observatory
from distributed import Client
client = Client({observed.scheduler.address!r})
observatory.run("doomed").__enter__()
os._exit(9)
"""
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, timeout=300, check=False)
    begun, ended = run_rows(received, 2)
    assert (begun["name"], begun["code"]) == ("doomed", "")
    assert (ended["outcome"], ended["exception_type"]) == ("erred", "the client went away")


def test_a_scheduler_that_closes_ends_the_runs_that_wait_for_tasks(
    received: FakeServer, tmp_path: Path
) -> None:
    settings = {"token": TOKEN, "spool_directory": str(tmp_path), "flush_interval": 0.1}
    with (
        ExitStack() as opened,  # whose runs end after their clients
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        cluster() as made,
        Client(made) as waiting,
        Client(made) as done,
    ):
        observatory.agent.register(waiting, url=received.url, **settings)
        for name, client in (("waiting", waiting), ("done", done)):
            opened.enter_context(observatory.run(name, client=client))
        assert done.submit(abs, -1).result() == 1
        future = waiting.submit(time.sleep, BLOCKED)
        eventually(lambda: future.key in made.scheduler.tasks)
        made.sync(made.scheduler.close)
    [ended] = [row for row in run_rows(received, 3) if row["outcome"] != "running"]
    assert (ended["name"], ended["outcome"]) == ("waiting", "erred")
    assert ended["exception_type"] == "the scheduler closed"


class Hostile(dict[Any, Any]):
    def items(self) -> Any:
        raise RuntimeError("no")


class Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "x\x00\ud800\n" + "y" * 10_000, "tags": {f"tag {n}": "z" * 1_000 for n in range(1_000)}},
        {"name": Unspeakable(), "tags": {Unspeakable(): Unspeakable(), "": 1}},
        {"name": None, "tags": Hostile()},
        {"tags": 5, "stacklevel": 10_000},
        {"tags": "text", "stacklevel": None},
    ],
)
def test_arguments_are_cut_and_cleaned_and_never_raise(
    observed: Client, received: FakeServer, arguments: dict[str, Any]
) -> None:
    with observatory.run(**arguments):
        pass
    for row in run_rows(received, 2):
        assert 0 < len(row["name"]) <= 200
        assert row["name"].isprintable()
        assert len(row["tags"]) <= 50
        assert all(len(name) <= 100 and len(value) <= 200 for name, value in row["tags"].items())
    assert received.refused == 0


def test_the_scheduler_refuses_malformed_runs(observed: Client, received: FakeServer) -> None:
    scheduler: Any = observed.scheduler
    for message in (
        {"run": "no id", "outcome": "running"},
        {"run": "0" * 32, "outcome": "splendid"},
        {"run": 5, "outcome": "running"},
        {"run": "0" * 32, "outcome": ["running"]},
    ):
        assert observed.sync(scheduler.observatory_run, **message)["status"] != "OK", message
    assert received.rows["run"] == []


def test_runs_are_recorded_after_the_cluster_was_restarted(observed: Client, received: FakeServer) -> None:
    observed.restart(wait_for_workers=False)
    with observatory.run("etl"):
        pass
    assert [row["outcome"] for row in run_rows(received, 2)] == ["running", "finished"]


def test_runs_are_recorded_by_an_agent_that_was_preloaded(received: FakeServer, tmp_path: Path) -> None:
    settings = {
        "observatory.url": received.url,
        "observatory.token": TOKEN,
        "observatory.spool-directory": str(tmp_path),
        "distributed.scheduler.preload": ["observatory.agent"],
    }
    with dask.config.set(settings), cluster(n_workers=0) as made, Client(made) as client:
        with observatory.run("etl", client=client):
            pass
        assert [row["outcome"] for row in run_rows(received, 2)] == ["running", "finished"]


@pytest.mark.parametrize(
    ("given", "program", "name"),
    [("my cluster", "etl.py", "my cluster"), (None, "etl.py", "etl.py"), (None, "", "")],
)
def test_a_cluster_is_named_by_its_manager_else_by_the_script_that_registers_the_agent(
    received: FakeServer, monkeypatch: pytest.MonkeyPatch, given: str | None, program: str, name: str
) -> None:
    monkeypatch.setattr(sys, "argv", [f"/home/ada/{program}" if program else ""])
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    with cluster(name=given) as made, Client(made) as client:
        observatory.agent.register(client, url=received.url, token=TOKEN, flush_interval=0.1)
        deadline = time.monotonic() + 120
        while not received.heads or received.heads[-1].name != name:
            assert time.monotonic() < deadline, received.heads
            time.sleep(0.05)


def test_import_needs_neither_django_nor_distributed_until_run_is_used() -> None:
    script = """
import sys, observatory, observatory.agent
assert "distributed" not in sys.modules
assert observatory.run is observatory.agent.run
assert "django" not in sys.modules and "psycopg" not in sys.modules
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", script], env=environment, cwd="/", check=True, timeout=300)


def test_from_a_script_to_the_list_of_runs(
    transactional_db: None, live_server: Any, client: Client, tmp_path: Path
) -> None:
    project = Project.objects.create(name="Alpha", slug="alpha")
    _, token = ingest_tokens.make(project, "tests", None)
    observatory.agent.register(
        client, url=live_server.url, token=token, spool_directory=str(tmp_path), flush_interval=0.1
    )

    def found(is_there: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 120
        find_runs()
        while not is_there():
            assert time.monotonic() < deadline, list(Run.objects.values())
            time.sleep(0.2)
            find_runs()

    with observatory.run("nightly etl", tags={"git": "3f2a1c"}):
        found(lambda: Run.objects.filter(outcome="running", name="nightly etl").exists())
        client.gather(client.map(hex, range(20)))
    found(lambda: Run.objects.filter(outcome="finished", tasks=20).exists())
    run = Run.objects.get()
    assert (run.origin, run.tags) == ("code", {"git": "3f2a1c"})
    assert run.stop is not None
    assert "def test_from_a_script_to_the_list_of_runs" in run.code
    # what is done outside of it is a run of its own, named after this function
    time.sleep(1.5)
    with dask.config.set({"distributed.diagnostics.computations.nframes": 1}):
        client.gather(client.map(oct, range(20)))
    found(lambda: Run.objects.filter(origin="found", outcome="running").exists())
    other = Run.objects.get(origin="found")
    assert other.start > run.stop
    assert other.name == "test_from_a_script_to_the_list_of_runs in test_runs.py"
    client.shutdown()
    found(lambda: Run.objects.filter(origin="found", outcome="finished", tasks=20).exists())
