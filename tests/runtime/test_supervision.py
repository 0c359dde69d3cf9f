"""Programs: how they are started again, how they are stopped, what is kept of what they print."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import kombu.pools
import psutil
import pytest
from django.conf import settings

from observatory import __version__
from observatory.runtime.errors import StartupError
from observatory.runtime.management.commands import up
from observatory.runtime.supervision import logs as logs_module
from observatory.runtime.supervision.logs import Logs
from observatory.runtime.supervision.program import MAXIMUM_PAUSE, Program, Stage
from observatory.runtime.supervision.subprocesses import python as module
from observatory.runtime.supervision.supervisor import Supervisor
from tests.runtime.machine import alive, eventually

STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
os.write(1, b"started\\n")
time.sleep(600)
"""

# it ends when the file has so many lines
NOTES_ITS_END = """
import signal, time
from pathlib import Path
def note(line):
    with open({order!r}, "a") as file:
        file.write("{name} " + line + "\\n")
def stop(*_):
    note("begins")
    while len(Path({order!r}).read_text().splitlines()) < {earlier}:
        time.sleep(0.01)
    note("ends")
    exit()
signal.signal(signal.SIGTERM, stop)
print("ready", flush=True)
time.sleep(600)
"""


def python(code: str, name: str = "program") -> Program:
    return Program(name, [sys.executable, "-c", code], lambda: True)


def fork(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Program:
    """A program that is a fork of this process and runs a module with this code."""
    (folder / "forked_program.py").write_text(code)
    monkeypatch.syspath_prepend(folder)
    return Program("web", module("forked_program", *arguments), lambda: True, settings={})


@pytest.fixture(autouse=True, scope="module")
def no_connections() -> None:
    """`up` forks before it has any. Those that other tests left would be closed in forks, which waits."""
    for pool in (*kombu.pools.producers.values(), *kombu.pools.connections.values()):
        pool.resize(pool.limit, reset=True)


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs(tmp_path, verbose=False)


def test_a_program_that_fails_is_started_again_after_pauses_that_double_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = python("raise SystemExit(3)")
    program.start()
    ended = program.started + 0.5
    with monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: ended)
        pauses = [program.next_start() - ended for _ in range(8)]
    assert pauses[:3] == pytest.approx([1.0, 2.0, 4.0])
    assert pauses[-1] == pytest.approx(MAXIMUM_PAUSE)
    program.stop()


def test_a_program_that_does_not_stop_is_killed_with_what_it_started(logs: Logs) -> None:
    program = python(STUBBORN)
    program.stop_timeout = 0.5
    supervisor = Supervisor(logs)
    supervisor.start(program)
    eventually(lambda: logs.path("program").read_text() == "started\n", "it started")
    assert program.process is not None
    stubborn = psutil.Process(program.process.pid)
    processes = [stubborn, *stubborn.children()]
    assert len(processes) == 2
    supervisor.stop()
    eventually(lambda: alive(processes) == [], "both are gone")


def test_programs_are_stopped_by_stages_those_of_one_stage_together(logs: Logs, tmp_path: Path) -> None:
    order = tmp_path / "order"
    supervisor = Supervisor(logs)
    for name, stage, earlier in (
        ("service", Stage.SERVICE, 0),
        ("one", Stage.OBSERVATORY, 4),
        ("other", Stage.OBSERVATORY, 4),
        ("demo", Stage.DEMO, 0),
    ):
        program = python(NOTES_ITS_END.format(order=str(order), name=name, earlier=earlier), name)
        program.stage = stage
        supervisor.launch(program)
        eventually(lambda name=name: logs.path(name).read_text(), "it is ready")  # type: ignore[misc]
    supervisor.stop()
    lines = order.read_text().splitlines()
    assert lines[:2] == ["demo begins", "demo ends"]
    assert sorted(lines[2:4]) == ["one begins", "other begins"]
    assert sorted(lines[4:6]) == ["one ends", "other ends"]
    assert lines[6:] == ["service begins", "service ends"]


def test_a_program_that_ends_before_it_is_ready_says_why_in_one_line(logs: Logs) -> None:
    program = python("import sys; sys.exit('no such thing')")
    program.is_ready = lambda: False
    with pytest.raises(StartupError, match=r"^program ended during startup: no such thing \(see .*\)$"):
        Supervisor(logs).start(program)


def test_children_of_a_killed_process_die_with_it(tmp_path: Path) -> None:
    code = f"""
import sys, time
from observatory.runtime.supervision.program import Program
program = Program("child", [sys.executable, "-c", "import time; time.sleep(600)"], lambda: True)
program.start()
open({str(tmp_path / "pid")!r}, "w").write(str(program.process.pid))
time.sleep(600)
"""
    parent = subprocess.Popen([sys.executable, "-c", code])
    eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), "it started")
    child = psutil.Process(int((tmp_path / "pid").read_text()))
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    eventually(lambda: alive([child]) == [], "the child is gone")


def test_a_log_that_has_grown_large_is_put_aside(
    tmp_path: Path, logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs_module, "MAXIMUM_BYTES", 100)
    with logs.open("web") as output:
        output.write(b"x" * 101)
        output.flush()
        logs.follow()
        output.write(b"new")
    assert (tmp_path / "web.log.1").read_bytes() == b"x" * 101
    assert (tmp_path / "web.log").read_bytes() == b"new"


def test_logs_that_cannot_be_read_for_a_while_end_nothing_and_are_followed_afterwards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, moved = tmp_path / "logs", tmp_path / "moved"
    folder.mkdir()
    logs = Logs(folder, verbose=True)
    with logs.open("web") as file:
        folder.rename(moved)
        folder.write_text("a file stands in the place of the folder")
        logs.follow()
        folder.unlink()
        moved.rename(folder)
        file.write(b"a later line\n")
        file.flush()
        logs.follow()
    assert "a later line" in capsys.readouterr().out


def test_whole_new_lines_of_every_program_are_shown_to_who_asks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "web.log").write_text("of yesterday\n")
    logs = Logs(tmp_path, verbose=True)
    with logs.open("web") as web, logs.open("collector") as collector:
        web.write(b"one\ntw")
        collector.write(b"three\n")
        web.flush(), collector.flush()
        logs.follow()
    shown = [line.split(" ", 1)[1] for line in capsys.readouterr().out.splitlines()]
    assert shown == ["web       | one", "collector | three"]


FORKED_OUTPUT = """
import sys
from observatory.runtime.errors import StartupError
from observatory.runtime.supervision.management import forked_output
try:
    print(forked_output(sys.argv[1]))
except StartupError as error:
    print("failed:", error)
"""


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("version", f"dask-observatory {__version__}"),
        ("no_such", "failed: `no_such` failed: Type 'dask-observatory help' for usage."),
    ],
)
def test_a_forked_command_returns_its_last_line_or_fails_with_it(command: str, line: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED_OUTPUT, command], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [line]
    assert done.stderr == ""


def test_what_is_started_and_ready_is_reported(logs: Logs) -> None:
    lines: list[str] = []
    supervisor = Supervisor(logs, lines.append)
    supervisor.run(python("pass", "migrate"))
    supervisor.start(python("import time; time.sleep(600)", "web"))
    supervisor.stop()
    assert lines == ["migrate: starting …", "migrate: done", "web: starting …", "web: ready"]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_is_for_terminals_alone(is_terminal: bool) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return is_terminal

    output, errors = io.StringIO(), Stream()
    up.Command(stdout=output, stderr=errors, no_color=True)._report_progress("web: starting …")
    assert errors.getvalue() == ("web: starting …\n" if is_terminal else "")
    assert output.getvalue() == ""


@pytest.mark.parametrize("is_python", [True, False])
def test_only_processes_of_python_get_settings_of_the_allocator(is_python: bool, logs: Logs) -> None:
    program = python("import os; print(os.environ.get('MALLOC_ARENA_MAX'), flush=True)")
    program.is_python = is_python
    program.environment = {"MALLOC_TRIM_THRESHOLD_": "1"}
    with logs.path("program").open("wb") as output:
        program.start(output)
    assert program.process is not None
    program.process.wait(60)
    assert logs.path("program").read_text() == ("2\n" if is_python else "None\n")


def test_a_fork_runs_a_module_with_its_arguments_and_settings_of_its_own(
    tmp_path: Path, logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = """
import os, sys
from django.conf import settings
os.write(1, f"{sys.argv[1:]} {settings.PUBLIC_URL} {os.getsid(0) == os.getpid()}\\n".encode())
"""
    program = fork(code, tmp_path, monkeypatch, "--port", "1")
    program.settings = {"PUBLIC_URL": "http://elsewhere"}
    Supervisor(logs).run(program)
    assert logs.path("web").read_text() == "['--port', '1'] http://elsewhere True\n"
    assert settings.PUBLIC_URL != "http://elsewhere"


def test_a_fork_is_known_to_others_by_the_name_of_its_program(
    tmp_path: Path, logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = psutil.Process().cmdline()
    program = fork("import time\ntime.sleep(600)", tmp_path, monkeypatch)
    supervisor = Supervisor(logs)
    supervisor.launch(program)
    assert program.process is not None
    process = psutil.Process(program.process.pid)
    eventually(lambda: "observatory web" in " ".join(process.cmdline()), "it has its title")
    assert psutil.Process().cmdline() == own
    supervisor.stop()
    assert alive([process]) == []


def test_a_fork_that_fails_says_why_and_one_that_does_not_stop_is_killed(
    tmp_path: Path, logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = fork("import os\nos.write(2, b'no such thing')\nraise ValueError", tmp_path, monkeypatch)
    program.is_ready = lambda: False
    with pytest.raises(StartupError, match=r"^web ended during startup: no such thing \(see .*\)$"):
        Supervisor(logs).start(program)

    program = fork(STUBBORN, tmp_path, monkeypatch)
    program.stop_timeout = 0.5
    supervisor = Supervisor(logs)
    supervisor.launch(program)
    eventually(lambda: "started" in logs.path("web").read_text(), "it started")
    assert program.process is not None
    stubborn = psutil.Process(program.process.pid)
    processes = [stubborn, *stubborn.children()]
    assert len(processes) == 2
    supervisor.stop()
    eventually(lambda: alive(processes) == [], "both are gone")


def test_forks_of_a_killed_process_die_with_it(tmp_path: Path) -> None:
    (tmp_path / "forked_program.py").write_text("import time\ntime.sleep(600)")
    code = f"""
import sys, time
sys.path.insert(0, {str(tmp_path)!r})
from observatory.runtime.supervision.program import Program
from observatory.runtime.supervision.subprocesses import python
program = Program("child", python("forked_program"), lambda: True, settings={{}})
program.start()
open({str(tmp_path / "pid")!r}, "w").write(str(program.process.pid))
time.sleep(600)
"""
    parent = subprocess.Popen([sys.executable, "-c", code])
    eventually(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), "it started")
    child = psutil.Process(int((tmp_path / "pid").read_text()))
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    eventually(lambda: alive([child]) == [], "the child is gone")
