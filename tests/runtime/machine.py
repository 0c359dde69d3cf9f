"""`manage.py up` in a process of its own, and all that it starts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from tests.browser.observatory import ROOT, SERVICES, free_port

METRICS_TOKEN = "sesame"
METRICS = {"Authorization": f"Bearer {METRICS_TOKEN}"}
"""headers of who may read /metrics"""


def environment(**changes: str) -> dict[str, str]:
    """Ours, without the services of the tests."""
    kept = {name: value for name, value in os.environ.items() if name not in (*SERVICES, "PYTHONUNBUFFERED")}
    return {**kept, "OBSERVATORY_METRICS_TOKEN": METRICS_TOKEN, **changes}


MANAGE = (sys.executable, "manage.py")


def manage(
    *arguments: str, program: Sequence[str] = MANAGE, folder: Path = ROOT, **changes: str
) -> subprocess.CompletedProcess[str]:
    """Runs a command of `program` in `folder`; `changes` are variables of the environment."""
    return subprocess.run(
        [*program, *arguments],
        cwd=folder,
        env=environment(**changes),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def eventually(condition: Callable[[], object], what: str, seconds: float = 180.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.2)


class Machine:
    """Where one Observatory runs, is killed and is started again."""

    def __init__(
        self,
        data_dir: Path,
        program: Sequence[str] = MANAGE,
        folder: Path = ROOT,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """`program` is what runs its commands, in `folder`, with further `variables` of the environment."""
        self.data_dir = data_dir
        self.program = program
        self.folder = folder
        self.variables = dict(variables or {})
        self.use_port(free_port())
        self.output = data_dir.with_name(f"{data_dir.name}.printed")
        self.up: subprocess.Popen[str] | None = None

    def use_port(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def start(self, *options: str, command: str = "up") -> None:
        """Returns once `up` has printed its line."""
        line = [*self.program, command, "--data-dir", str(self.data_dir), "--port", str(self.port), *options]
        with self.output.open("w") as output:
            self.up = subprocess.Popen(
                line, cwd=self.folder, env=environment(**self.variables), stdout=output
            )
        eventually(lambda: self.printed or not self.is_up, "`up` prints its line", 400)
        assert self.is_up, "`up` ended"

    @property
    def printed(self) -> str:
        return self.output.read_text()

    @property
    def is_up(self) -> bool:
        return self.up is not None and self.up.poll() is None

    def processes(self) -> list[psutil.Process]:
        """All that `up` started, and what those started."""
        assert self.up is not None
        return psutil.Process(self.up.pid).children(recursive=True)

    def process(self, pattern: str) -> psutil.Process | None:
        """The one that `up` started itself with a command line that matches."""
        assert self.up is not None
        for process in psutil.Process(self.up.pid).children():
            try:
                if re.search(pattern, " ".join(process.cmdline())):
                    return process
            except psutil.NoSuchProcess:
                continue
        return None

    def end(self, number: signal.Signals) -> int:
        """Sends `up` a signal; returns how it ended."""
        assert self.up is not None
        self.up.send_signal(number)
        return self.up.wait(120)

    def answer(self, path: str, **headers: str) -> tuple[int, str]:
        """The status, 0 for none, and the body."""
        request = urllib.request.Request(self.url + path, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [
        process for process in processes if process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    ]


def recorded_clusters(machine: Machine) -> set[str]:
    """The ids of the schedulers that it recorded for the demo's target, or by the demo's agent."""
    code = (
        "from observatory.clusters.models import Cluster, Target\n"
        "assert [target.name for target in Target.objects.all()] == ['demo']\n"
        "ids = Cluster.objects.values_list('scheduler_id', flat=True)\n"
        "print(*[id for id in ids if not id.startswith('unnamed')])"
    )
    changes = {**machine.variables, "OBSERVATORY_DATA_DIR": str(machine.data_dir)}
    arguments = ("shell", "-v", "0", "-c", code)
    done = manage(*arguments, program=machine.program, folder=machine.folder, **changes)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())
