"""Scripts that don't close their cluster: what they did is recorded, however they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from observatory.clusters.models import Cluster, Project
from observatory.clusters.tokens import ingest_tokens
from observatory.runs.models import Run
from observatory.runs.tasks import find_runs
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN
from tests.agent.faulty_server import FaultyServer, faulty_server
from tests.agent.unclosed_script import TASKS

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).parent / "unclosed_script.py"
MARK = "observatory"
"""in each line that the agent or its traceback prints, but not in one of Dask's own"""


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with faulty_server() as server:
        yield server


class Script:
    """A script that runs. It prints "computed", unless it fails before."""

    def __init__(self, url: str, token: str, spool: Path, end: str, name: str = "script") -> None:
        self.spool = spool
        self.name = name
        kept = {name: value for name, value in os.environ.items() if not name.startswith("OBSERVATORY_")}
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPT), url, token, name, end],
            env={**kept, "PYTHONPATH": str(ROOT), "DASK_OBSERVATORY__SPOOL_DIRECTORY": str(spool)},
            cwd="/",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.computed = self.process.stdout.readline()

    def end(self, number: signal.Signals | None = None) -> int:
        """Sends the signal, waits, and returns the exit status."""
        if number is not None:
            self.process.send_signal(number)
        self.printed, self.errors = self.process.communicate(timeout=300)
        assert self.computed == "computed\n", self.errors
        return self.process.returncode

    @property
    def said_of_ours(self) -> list[str]:
        lines = self.errors.replace(str(ROOT), "").replace(str(SCRIPT), "").splitlines()
        return [line for line in lines if MARK in line]


def flush(url: str, spool: Path, token: str = TOKEN) -> None:
    command = [sys.executable, "-m", "observatory.agent", "flush", "--url", url, "--token", token]
    subprocess.run([*command, "--spool-directory", str(spool)], cwd=ROOT, check=True, timeout=300)


def recorded(server: FaultyServer) -> dict[str, Any]:
    """Of the one cluster that was reported."""
    rows = server.received.rows
    assert len({head.scheduler_id for head in server.received.heads}) == 1
    stored = {row["key"] for row in rows["transition"] if row["finish"] == "memory"}
    return {
        "tasks": (len(stored), sum(row["action"] == 0 for row in rows["span"])),
        "run": [(row["outcome"], row["exception_type"]) for row in rows["run"]],
        "ended": server.received.heads[-1].is_last,
        "dropped": rows["dropped"],
    }


def right(*outcomes: tuple[str, str], ended: bool = True) -> dict[str, Any]:
    return {"tasks": (TASKS, TASKS), "run": list(outcomes), "ended": ended, "dropped": []}


RUNNING, FINISHED = ("running", ""), ("finished", "")


@pytest.mark.parametrize(
    ("end", "status", "outcomes"),
    [
        ("returns", 0, [RUNNING, FINISHED]),
        ("exception", 1, [RUNNING, ("erred", "RuntimeError")]),
        pytest.param("threads", 0, [RUNNING, FINISHED], marks=pytest.mark.long),
        pytest.param("no-run", 0, [], marks=pytest.mark.long),
    ],
)
def test_a_script_that_does_not_close_its_cluster_is_recorded_whole(
    server: FaultyServer, tmp_path: Path, end: str, status: int, outcomes: list[tuple[str, str]]
) -> None:
    script = Script(server.url, TOKEN, tmp_path / "spool", end)
    assert script.end() == status
    assert recorded(server) == right(*outcomes)
    assert script.said_of_ours == []
    assert list(script.spool.iterdir()) == []  # sent, not left


@pytest.mark.parametrize(
    ("number", "outcome"),
    [
        (signal.SIGTERM, ("erred", "SIGTERM")),
        pytest.param(signal.SIGHUP, ("erred", "SIGHUP"), marks=pytest.mark.long),
        pytest.param(signal.SIGINT, ("erred", "KeyboardInterrupt"), marks=pytest.mark.long),
    ],
)
def test_a_signal_in_a_run_ends_the_run_the_cluster_and_the_script(
    server: FaultyServer, tmp_path: Path, number: signal.Signals, outcome: tuple[str, str]
) -> None:
    script = Script(server.url, TOKEN, tmp_path / "spool", "waits-in-run")
    assert script.end(number) == -number
    assert recorded(server) == right(RUNNING, outcome)
    assert script.said_of_ours == []
    assert list(script.spool.iterdir()) == []


@pytest.mark.parametrize("end", ["_exit", pytest.param("waits", marks=pytest.mark.long)])
def test_a_run_that_ended_before_its_process_was_killed_is_whole_in_the_spool(
    server: FaultyServer, tmp_path: Path, end: str
) -> None:
    server.stop()
    script = Script(server.url, TOKEN, tmp_path / "spool", end)
    if end == "waits":
        assert script.process.stdout is not None
        assert script.process.stdout.readline().startswith("returned")
        assert script.end(signal.SIGKILL) == -signal.SIGKILL
    else:
        assert script.end() == 3
    server.start()
    flush(server.url, script.spool)
    assert recorded(server) == right(RUNNING, FINISHED, ended=False)


@pytest.mark.parametrize("state", ["down", pytest.param("hanging", marks=pytest.mark.long)])
def test_a_script_ends_without_its_server_which_gets_everything_later(
    server: FaultyServer, tmp_path: Path, state: str
) -> None:
    if state == "down":
        server.stop()
    server.behaviour, server.delay = "slow", 600.0
    script = Script(server.url, TOKEN, tmp_path / "spool", "returns")
    assert script.end() == 0
    assert "python -m observatory.agent flush" in script.errors
    assert "Traceback" not in script.errors
    server.stop()
    server.behaviour = "well"
    server.start()
    flush(server.url, script.spool)
    assert recorded(server) == right(RUNNING, FINISHED)


def test_the_next_script_of_the_machine_sends_what_a_killed_one_left(
    server: FaultyServer, tmp_path: Path
) -> None:
    server.stop()
    killed = Script(server.url, TOKEN, tmp_path, "_exit", name="killed")
    assert killed.end() == 3
    server.start()
    following = Script(server.url, TOKEN, tmp_path, "waits", name="following")
    eventually(lambda: [head for head in server.received.heads if head.name == "killed"])
    eventually(lambda: len(list(tmp_path.iterdir())) == 1)
    following.end(signal.SIGTERM)
    rows = server.received.rows
    assert [(row["name"], row["outcome"]) for row in rows["run"] if row["name"] == "killed"] == [
        ("killed", "running"),
        ("killed", "finished"),
    ]
    assert len({row["key"] for row in rows["transition"] if row["finish"] == "memory"}) == 2 * TASKS


def test_from_a_script_without_close_to_the_list_of_runs(
    transactional_db: None, live_server: Any, tmp_path: Path
) -> None:
    project = Project.objects.create(name="Alpha", slug="alpha")
    _, token = ingest_tokens.make(project, "tests", None)
    script = Script(live_server.url, token, tmp_path, "returns", name="nightly etl")
    assert script.end() == 0
    flush(live_server.url, tmp_path, token)  # on a loaded machine the server's first answer takes seconds

    def finished() -> bool:
        find_runs()
        return Run.objects.filter(outcome="finished", tasks=TASKS, name="nightly etl").exists()

    eventually(finished)
    assert Run.objects.count() == 1
    assert Cluster.objects.get().end_reason == "the scheduler closed"


@pytest.mark.long
def test_fifty_scripts_at_once_are_all_recorded(server: FaultyServer, tmp_path: Path) -> None:
    """Four at a time: more than the processors of a small machine."""
    ends = ["returns", "exception", "waits-in-run", "_exit", "no-run"]

    def run(number: int) -> tuple[str, list[str]]:
        end = ends[number % len(ends)]
        script = Script(server.url, TOKEN, tmp_path, end, name=f"script {number}")
        script.end(signal.SIGTERM if end == "waits-in-run" else None)
        return script.name, script.said_of_ours

    with ThreadPoolExecutor(4) as threads:
        ran = list(threads.map(run, range(50)))
    flush(server.url, tmp_path)
    assert [said for _, said in ran if said] == []
    outcomes: dict[str, list[str]] = {name: [] for name, _ in ran}
    for row in server.received.rows["run"]:
        outcomes[row["name"]].append(row["outcome"])
    last = {"returns": "finished", "_exit": "finished", "exception": "erred", "waits-in-run": "erred"}
    for number, (name, _) in enumerate(ran):
        end = ends[number % len(ends)]
        assert outcomes[name] == (["running", last[end]] if end in last else []), json.dumps(outcomes)
    stored = {row["key"] for row in server.received.rows["transition"] if row["finish"] == "memory"}
    assert len(stored) == 50 * TASKS


class Agent:
    def __init__(self) -> None:
        self.reason: str | None = None

    def begin_ending(self, reason: str) -> None:
        self.reason = reason

    def finish_ending(self, timeout: float) -> None:
        pass


def in_a_process_with_an_agent(code: str) -> subprocess.CompletedProcess[str]:
    """Runs Python code in a process where a signal ends an agent that prints so."""
    head = """
import os, signal, sys, time
from observatory.agent import process_end
class Agent:
    def begin_ending(self, reason):
        os.write(1, b"ends: " + (reason or "exit").encode() + b"\\n")
    def finish_ending(self, timeout):
        pass
process_end.add(Agent())
"""
    return subprocess.run(
        [sys.executable, "-c", head + code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_signal_ends_a_process_whose_main_thread_does_not_return_to_the_interpreter() -> None:
    done = in_a_process_with_an_agent("""
process_end.handle_signals()
import ctypes, threading
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
libc = ctypes.CDLL(None)
while True:
    libc.sleep(600)  # returns when it is interrupted
    libc.pause()
""")
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "ends: SIGTERM\n"), done.stderr


def test_signals_that_a_program_handles_are_left_to_it() -> None:
    done = in_a_process_with_an_agent("""
signal.signal(signal.SIGHUP, signal.SIG_IGN)
process_end.handle_signals()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
os.kill(os.getpid(), signal.SIGHUP)
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(600)
""")
    assert (done.returncode, done.stdout) == (5, "ends: exit\n"), done.stderr


def test_a_handler_that_calls_the_one_before_it_ends_the_process_in_the_same_way() -> None:
    done = in_a_process_with_an_agent("""
process_end.handle_signals()
before = signal.getsignal(signal.SIGTERM)
def handler(*arguments):
    os.write(1, b"its own\\n")
    before(*arguments)
signal.signal(signal.SIGTERM, handler)
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(600)
""")
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "its own\nends: SIGTERM\n"), done.stderr


def test_an_event_loop_in_the_main_thread_keeps_its_own_handlers() -> None:
    done = in_a_process_with_an_agent("""
import asyncio
async def main():
    hung_up = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hung_up.set)
    process_end.handle_signals()
    os.kill(os.getpid(), signal.SIGHUP)
    await hung_up.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.sleep(600)
asyncio.run(main())
""")
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "ends: SIGTERM\n"), done.stderr


def test_a_signal_to_a_forked_child_ends_the_child_alone() -> None:
    done = in_a_process_with_an_agent("""
process_end.handle_signals()
child = os.fork()
if child == 0:
    while True:
        time.sleep(600)
os.kill(child, signal.SIGTERM)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print("child", status, flush=True)
""")
    assert (done.returncode, done.stdout) == (0, "child -15\nends: exit\n"), done.stderr
