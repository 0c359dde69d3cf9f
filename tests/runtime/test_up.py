"""`manage.py up`: starts all, says one line, restarts what dies, leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import redis

from observatory.base import priority
from observatory.base.environment import run_dir
from observatory.runtime.embedded.account import service_account
from observatory.runtime.health.process_heartbeats import BEAT
from tests.runtime.machine import (
    METRICS,
    Machine,
    alive,
    eventually,
    free_port,
    manage,
    recorded_clusters,
)
from tests.runtime.unprivileged import can_read_observatory, runnable_python
from tests.support.first_start import static_root

pytestmark = pytest.mark.root


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """Under root: with a Python and a folder for every user, after a version that ran as root."""
    folder = Path(tempfile.mkdtemp(prefix="observatory-test-", dir="/tmp"))
    folder.chmod(0o755)
    python, variables = runnable_python(folder / "python")
    machine = Machine(folder / "data", (python, "manage.py"), variables=variables)
    for name in ("demo", "exchange", "logs"):
        (machine.data_dir / name).mkdir(parents=True)
    shutil.copytree(static_root(), machine.data_dir / "static")
    for name in ("lock", "secret_key", "logs/web.log"):
        (machine.data_dir / name).write_text("of an earlier version\n" * 3)
        (machine.data_dir / name).chmod(0o600)
    if os.geteuid() == 0:
        machine.use_port(free_low_port())
    machine.start()
    yield machine
    if machine.is_up:
        machine.end(signal.SIGTERM)
    shutil.rmtree(folder)


def free_low_port() -> int:
    """A port that only root may listen on; any free one where root may not either, as in some containers."""
    for port in range(900, 1000):
        with contextlib.suppress(OSError), socket.socket() as tried:
            tried.bind(("127.0.0.1", port))
            return port
    return free_port()


def assert_nothing_is_run_by_root(machine: Machine) -> None:
    assert machine.up is not None
    if not can_read_observatory():
        return  # it runs as root, with a warning (test_privileges.py)
    account = service_account()
    for process in (psutil.Process(machine.up.pid), *machine.processes()):
        with contextlib.suppress(psutil.NoSuchProcess):
            assert {*process.uids(), *process.gids()} == {account.uid, account.gid}, process.cmdline()


def test_one_line_tells_the_link_that_signs_the_first_administrator_in(machine: Machine) -> None:
    [line] = machine.printed.strip().splitlines()
    found = re.fullmatch(rf"Dask Observatory is ready: {machine.url}(/sign-in/once/\S+)", line)
    assert found
    status, body = machine.answer(found[1])
    assert status == 200
    assert "Sign in as admin" in body


def test_the_programs_have_no_rights_of_root_and_own_the_data_folder(machine: Machine) -> None:
    if not can_read_observatory():
        pytest.skip("the checkout is closed to the programs' account")
    assert_nothing_is_run_by_root(machine)
    owners = {path: path.lstat().st_uid for path in machine.data_dir.rglob("*")}
    assert {path for path, owner in owners.items() if owner != service_account().uid} == set()
    assert "of an earlier version" in (machine.data_dir / "logs/web.log").read_text()


def test_exports_and_tiles_have_a_lower_priority_than_pages(machine: Machine) -> None:
    programs = ("web", "worker", "alerts", "collector")
    found = {name: machine.process(f"observatory {name}") for name in programs}
    lower = {name for name, process in found.items() if process and process.nice() == priority.NICENESS}
    assert lower == {"worker"}
    group = Path(f"/proc/{found['worker'].pid}/autogroup") if found["worker"] else Path()
    assert not group.exists() or group.read_text().split()[-1] == str(priority.NICENESS)


def test_it_is_alive_and_ready_without_signing_in(machine: Machine) -> None:
    assert machine.answer("/healthz") == (200, "ok\n")
    status, body = machine.answer("/readyz")
    assert status == 200
    assert body == '{"database": true, "migrations": true, "redis": true}'


def test_its_metrics_are_for_who_has_the_token(machine: Machine) -> None:
    status, body = machine.answer("/metrics", **METRICS)
    assert status == 200
    assert "\nobservatory_collectors 1.0\n" in body
    assert "\nobservatory_celery_queue_length " in body
    assert machine.answer("/metrics")[0] == 403


def test_the_doctor_finds_all_well(machine: Machine) -> None:
    done = manage("doctor", "--data-dir", str(machine.data_dir))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "database: plain PostgreSQL 18" in done.stdout
    assert "redis: Valkey" in done.stdout
    assert "collector: 1 running" in done.stdout
    assert "celery: worker and beat running" in done.stdout


def test_a_data_folder_serves_one_up_at_a_time(machine: Machine) -> None:
    done = manage("up", "--data-dir", str(machine.data_dir), "--port", "0")
    assert done.returncode == 1
    [line] = done.stderr.strip().splitlines()
    assert line.startswith(f"CommandError: the data folder {machine.data_dir} is in use by process ")


def test_services_are_reached_by_sockets_that_are_private(machine: Machine) -> None:
    assert machine.data_dir.stat().st_mode & 0o777 == 0o700
    for words in ("postgres", "valkey-server"):
        process = machine.process(words)
        assert process is not None
        assert [connection.status for connection in process.net_connections("inet")] == []
        assert process.uids().real == machine.data_dir.stat().st_uid


@pytest.mark.parametrize(
    "pattern",
    [
        *("valkey-server", "bin/postgres"),
        *("observatory web", "observatory worker", "observatory alerts"),
    ],
)
def test_what_is_killed_is_started_again(machine: Machine, pattern: str) -> None:
    killed = machine.process(pattern)
    assert killed is not None
    killed.kill()
    killed.wait(60)
    eventually(lambda: machine.process(pattern), f"{pattern} runs again")
    eventually(lambda: machine.answer("/readyz")[0] == 200, "all is ready again")


def test_the_schedule_goes_on_after_the_worker_that_runs_beat_was_killed(machine: Machine) -> None:
    killed = machine.process("observatory alerts")
    assert killed is not None
    killed.kill()
    killed.wait(60)
    time_of_kill = time.time()
    client = redis.Redis(unix_socket_path=f"{run_dir(machine.data_dir)}/valkey.sock")
    eventually(lambda: float(client.get(BEAT) or 0) > time_of_kill, "beat has sent its task again")


def test_a_killed_collector_is_started_again_and_collects(machine: Machine) -> None:
    killed = machine.process("observatory collector")
    assert killed is not None
    killed.kill()
    killed.wait(60)
    eventually(lambda: machine.process("observatory collector"), "another one runs")
    another = machine.process("observatory collector")
    assert another is not None
    eventually(
        lambda: f":{another.pid}:" in machine.answer("/metrics", **METRICS)[1], "it says that it lives"
    )


def test_a_signal_stops_all_of_it_and_leaves_no_process(machine: Machine) -> None:
    processes = machine.processes()
    assert len(processes) >= 6
    assert machine.end(signal.SIGINT) == 0
    assert alive(processes) == []


def test_killing_it_leaves_no_process_and_the_next_start_recovers(machine: Machine) -> None:
    if machine.is_up:
        machine.end(signal.SIGINT)
    machine.start("--demo")
    eventually(lambda: recorded_clusters(machine), "the demo's cluster is recorded")
    eventually(lambda: len(dask_processes(machine)) >= 7, "scheduler, nannies and workers run")
    assert_nothing_is_run_by_root(machine)
    processes, recorded = machine.processes(), recorded_clusters(machine)
    machine.end(signal.SIGKILL)
    eventually(lambda: alive(processes) == [], "all are gone")

    machine.start()
    assert machine.answer("/readyz")[0] == 200
    # another scheduler of this machine may use the port of the demo's by now
    assert recorded_clusters(machine) >= recorded


def dask_processes(machine: Machine) -> list[psutil.Process]:
    """Scheduler and nannies by their command; workers by the title Dask gives them, or as it spawns them."""
    found = []
    for process in machine.processes():
        with contextlib.suppress(psutil.NoSuchProcess):
            if re.search("dask|multiprocessing.spawn", " ".join(process.cmdline())):
                found.append(process)
    return found


def test_nothing_of_it_is_readable_to_others(machine: Machine) -> None:
    assert (machine.data_dir / "secret_key").stat().st_mode & 0o077 == 0
