"""Native stacks of tasks, by a real py-spy beside the workers of a real cluster."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed import Client, LocalCluster

import observatory.agent
from observatory.agent.worker.profiles import native_profiles
from observatory.agent.worker.profiles.native_profiles import stacks
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, FakeServer, fake_server

PY_SPY = "py-spy"
DENIES = "#!/bin/sh\necho 'Permission Denied: Try running again with elevated permissions' >&2\nexit 1\n"
FAILS = "#!/bin/sh\necho 'Error: Failed to find a python process' >&2\nexit 1\n"
WORKER = "/site-packages/distributed/worker.py"


@contextmanager
def observed(**workers: Any) -> Iterator[tuple[Client, FakeServer]]:
    settings = {"n_workers": 1, "threads_per_worker": 1, "silence_logs": "CRITICAL", **workers}
    with (
        LocalCluster(**settings, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
        fake_server() as received,
    ):
        if workers.get("processes", True):
            client.run(record_often)
        observatory.agent.register(
            client, url=received.url, token=TOKEN, flush_interval="100ms", native_profile=True
        )
        yield client, received
        assert received.refused == 0


def record_often() -> None:
    """In a worker: the first recording would otherwise begin after 10 to 20 seconds."""
    native_profiles.PERIOD = 0.5


def compress_until(path: str) -> int:
    """Spends its time in zlib's C code until there is a file."""
    data, rounds = os.urandom(1 << 20), 0
    while not os.path.exists(path):
        zlib.compress(data, 6)
        rounds += 1
    return rounds


def native(received: FakeServer) -> list[dict[str, Any]]:
    return [row for row in received.rows["profile"] if row["source"] == "native"]


def py_spies(pid: int) -> list[int]:
    """The worker's children that are py-spy, or become it."""
    found = psutil.Process(pid).children(recursive=True)
    return [process.pid for process in found if any("py-spy" in word for word in process.cmdline())]


def test_the_c_function_in_which_a_task_spends_its_time_is_in_its_native_stacks(tmp_path: Path) -> None:
    done = tmp_path / "done"
    with observed() as (client, received):
        working = client.submit(compress_until, str(done))
        rows = eventually(lambda: native(received), seconds=120)
        done.touch()
        assert working.result() > 0
        [address] = client.scheduler_info()["workers"]
    assert {(row["worker"], row["prefix"]) for row in rows} == {(address, "compress_until")}
    names = [[line.split("\t")[0] for line in row["stack"].split("\n")] for row in rows]
    assert all("compress_until" in frames and not any("0x" in name for name in frames) for frames in names)
    below = [frames[frames.index("compress_until") + 1 :] for frames in names]
    counted = sum(row["count"] for row, called in zip(rows, below, strict=True) if "deflate" in called)
    assert counted > sum(row["count"] for row in rows) / 2
    assert received.events("native-profile-refused") == []


def test_py_spy_ends_with_the_plugin_and_the_worker_goes_on(tmp_path: Path) -> None:
    done = tmp_path / "done"
    with observed() as (client, _):
        [pid] = client.run(os.getpid).values()
        working = client.submit(compress_until, str(done))
        recording = eventually(lambda: py_spies(pid), seconds=120)
        observatory.agent.unregister(client)
        assert not [one for one in recording if psutil.pid_exists(one)]
        done.touch()
        assert working.result(timeout=120) > 0


def test_py_spy_ends_with_its_worker(tmp_path: Path) -> None:
    with observed() as (client, _):
        [pid] = client.run(os.getpid).values()
        working = client.submit(compress_until, str(tmp_path / "never"), retries=0)
        recording = eventually(lambda: py_spies(pid), seconds=120)
        psutil.Process(pid).kill()
        eventually(lambda: not [one for one in recording if psutil.pid_exists(one)], seconds=120)
        client.cancel(working)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (DENIES, "py-spy may not trace the worker: give its container the capability SYS_PTRACE"),
        (FAILS, "py-spy failed 3 times: Error: Failed to find a python process"),
    ],
)
def test_a_py_spy_that_can_not_record_is_told_once_and_the_worker_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    program, done = tmp_path / PY_SPY, tmp_path / "done"
    program.write_text(script)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("observatory.agent.worker.profiles.native_profiles.PERIOD", 0.2)
    with observed(processes=False) as (client, received):
        working = client.submit(compress_until, str(done))
        [event] = eventually(lambda: received.events("native-profile-refused"), seconds=120)
        time.sleep(2)
        done.touch()
        assert working.result() > 0
        [address] = client.scheduler_info()["workers"]
        assert event["worker"] == address
        assert event["detail"]["message"].startswith(f"no native profile of {address}: {reason}")
        assert len(received.events("native-profile-refused")) == 1
        assert native(received) == []


def test_a_missing_py_spy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("observatory.agent.worker.profiles.native_profiles.PROGRAM", "no-such-program")
    with observed(processes=False) as (_, received):
        [event] = eventually(lambda: received.events("native-profile-refused"), seconds=120)
    assert event["detail"]["reason"] == "py-spy is not installed beside the worker: pip install py-spy"


def test_a_stack_begins_with_what_the_task_called_and_has_no_addresses() -> None:
    frames = [
        {"name": "thread (7): Dask-Default-Threads", "file": "", "line": 0},
        {"name": "apply_function", "file": WORKER, "line": 2},
        {"name": "work", "file": "/code/work.py", "line": 3},
        {"name": "0x7fb3", "file": "/lib/libz.so.1", "line": 0},
        {"name": "0x7fb4", "file": "/lib/libz.so.1", "line": 0},
        {"name": "operator<<\n\t(int)", "file": None, "line": None},
    ]
    profiles = [
        {"name": 'Thread 7 "Dask-Default-Threads"', "samples": [[0, 1, 2, 3, 4], [0, 1, 2, 5], [0]]},
        {"name": "not a thread", "samples": [[0, 1, 2]]},
    ]
    library = "libz.so.1 (no symbols)\t/lib/libz.so.1\t0"
    assert list(stacks({"shared": {"frames": frames}, "profiles": profiles})) == [
        (7, f"work\t/code/work.py\t3\n{library}"),
        (7, "work\t/code/work.py\t3\noperator<< (int)\t\t0"),
    ]
