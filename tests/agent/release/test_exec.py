"""Real schedulers, workers and programs that are started with a configuration file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from observatory.runtime.supervision.subprocesses import die_with_parent
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, FakeServer, fake_server

ROOT = Path(__file__).resolve().parents[3]
SECRET = "hunter2-of-the-tests"
FILE = f"""
release: 2026.11.2
environment: {{OMP_NUM_THREADS: "3", MY_PASSWORD: {SECRET}}}
scheduler:
  distributed: {{scheduler: {{work-stealing: false}}}}
  observatory: {{retire-token: {SECRET}}}
worker: {{distributed: {{worker: {{memory: {{target: 0.55}}}}}}}}
client: {{distributed: {{comm: {{timeouts: {{connect: 31s}}}}}}}}
"""
WITHOUT_GIL_MONITOR = {"DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__GIL__ENABLED": "false"}
"""A process that ends while the monitor's thread waits for the GIL is aborted now and then (exit code -6)"""
EXEC = [sys.executable, "-m", "observatory", "exec"]


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DASK", "OBSERVATORY"))}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "release.yaml"
    path.write_text(FILE)
    return path


@contextmanager
def started(folder: Path, *command: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "output").open("ab") as output:
        process = subprocess.Popen(
            [*EXEC, *command],
            cwd=folder,
            env=environment(**WITHOUT_GIL_MONITOR, **variables),
            stdout=output,
            stderr=output,
            preexec_fn=die_with_parent(),
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*EXEC, *command], env=environment(**variables), capture_output=True, text=True, check=False
    )


def values(*names: str) -> Callable[[], list[Any]]:
    """A function that returns values of Dask's configuration and a variable, in the process that calls it."""

    def found() -> list[Any]:
        from dask import config

        return [*(config.get(name, None) for name in names), os.environ.get("OMP_NUM_THREADS"), os.getpid()]

    return found


def test_scheduler_and_workers_run_with_their_sections_and_the_release_is_recorded(
    file: Path, tmp_path: Path
) -> None:
    found = str(tmp_path / "scheduler.json")
    names = ("distributed.scheduler.work-stealing", "distributed.worker.memory.target")
    with fake_server() as received, ExitStack() as stack:
        of_agent = {"OBSERVATORY_URL": received.url, "OBSERVATORY_TOKEN": TOKEN}
        options = ("--configuration", str(file), "--", "dask")
        local = ("--host", "127.0.0.1", "--scheduler-file", found)
        scheduler = stack.enter_context(
            started(
                tmp_path,
                "scheduler",
                *options,
                "scheduler",
                *local,
                "--port",
                "0",
                "--dashboard-address",
                ":0",
                **of_agent,
            )
        )
        worker = stack.enter_context(
            started(
                tmp_path,
                "worker",
                *options,
                "worker",
                *local,
                "--nthreads",
                "1",
                "--dashboard-address",
                ":0",
                OMP_NUM_THREADS="8",
            )
        )
        eventually(lambda: Path(found).exists())
        with Client(scheduler_file=found, timeout=120) as client:
            client.wait_for_workers(1, timeout=240)
            on_scheduler = client.run_on_scheduler(values(*names))
            [on_worker] = client.run(values(*names)).values()
            [nanny] = client.run(values(*names), nanny=True).values()
            eventually(lambda: received.rows["worker"] and described(received))
        assert on_scheduler == [False, 0.6, "3", scheduler.pid], "it replaced the command"
        assert on_worker[:3] == [True, 0.55, "3"]
        assert nanny == [True, 0.55, "3", worker.pid]
        for process in (worker, scheduler):
            process.send_signal(signal.SIGTERM)
            assert process.wait(120) in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
        eventually(lambda: received.heads[-1].is_last)

    [event] = received.events("agent-started")
    of_scheduler, of_worker = event["detail"]["release"], described(received)
    assert (of_scheduler["name"], of_worker["name"]) == ("2026.11.2", "2026.11.2")
    assert of_scheduler["digest"] == of_worker["digest"]
    variables = {"environment: OMP_NUM_THREADS": "3", "environment: MY_PASSWORD": "***"}
    assert of_scheduler["values"] == {
        **variables,
        "scheduler: distributed.scheduler.work-stealing": "false",
        "scheduler: observatory.retire-token": "***",
    }
    assert of_worker["values"] == {**variables, "worker: distributed.worker.memory.target": "0.55"}
    assert not any(secret.encode() in body for secret in (SECRET, TOKEN) for body in received.bodies)
    assert "Observatory's agent reports to" in (tmp_path / "output").read_text()


def described(received: FakeServer) -> dict[str, Any]:
    """What the worker told of its release; empty before."""
    told = [row["detail"]["release"] for row in received.rows["worker"] if "release" in row["detail"]]
    return dict(told[-1]) if told else {}


def test_a_program_of_a_client_has_its_section_and_the_variables_before_python_starts(file: Path) -> None:
    code = (
        "import os, dask, json, sys; "
        "print(json.dumps([dask.config.get('distributed.comm.timeouts.connect', 0),"
        " os.environ['OMP_NUM_THREADS'], sys.argv[1:]]))"
    )
    done = run("client", "--configuration", str(file), "--", sys.executable, "-c", code, "--", "--help")
    assert (done.stderr, json.loads(done.stdout)) == ("", ["31s", "3", ["--", "--help"]])


def test_a_program_that_is_not_on_the_path_is_found_beside_python(file: Path) -> None:
    done = run("client", "--configuration", str(file), "--", "dask", "--version", PATH="/nowhere")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("dask, version ")


def test_a_program_that_is_nowhere_is_named() -> None:
    done = run("client", "--", "no-such-program")
    assert (done.returncode, done.stderr) == (127, "Error: no-such-program: not found\n")


def test_a_variable_that_the_file_overrides_is_named_without_its_value(file: Path) -> None:
    name = "DASK_DISTRIBUTED__WORKER__MEMORY__TARGET"
    code = "import dask; print(dask.config.get('distributed.worker.memory.target'))"
    command = ["worker", "--configuration", str(file), "--", sys.executable, "-c", code]
    done = run(*command, **{name: "0.9"})
    assert done.stdout == "0.55\n"
    assert done.stderr == f"{name} of the environment: the configuration file wins\n"


def test_nothing_starts_with_a_wrong_file(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text("release: 2026.10\nworkers: {}\n")
    done = run("worker", "--configuration", str(path), "--", sys.executable, "-c", "print('started')")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        f"{path}: error: workers: unknown; there are release, environment, scheduler, worker, client",
        f'{path}: error: release: must be text: write it in quotes, as in "2026.10"',
    ]


def test_neither_django_nor_other_libraries_of_the_server_are_needed(file: Path) -> None:
    code = """
import sys
class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"django", "psycopg", "pydantic", "celery", "jsonschema", "requests"}:
            raise ImportError(name)
sys.meta_path.insert(0, Refusing())
from observatory.runtime.command_line import main
main(sys.argv[1:])
"""
    command = ["exec", "client", "--configuration", str(file), "--", sys.executable, "-c", "print('started')"]
    done = subprocess.run(
        [sys.executable, "-c", code, *command], env=environment(), capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("started\n", "")
