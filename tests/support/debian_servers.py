"""Servers of Debian's packages that tests start: found, started, waited for, killed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from observatory.runtime.supervision.subprocesses import die_with_parent


def program(name: str, package: str) -> str:
    """Its path. The test is skipped without it; CI needs it."""
    found = shutil.which(name)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail(f"CI needs {name}: apt-get install {package}")
        pytest.skip(f"{name} isn't on the PATH, which should have /usr/sbin: apt-get install {package}")
    return found


class Process:
    """A program that can be killed and started again with the same command."""

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        is_ready: Callable[[], bool] = lambda: True,
        **options: Any,
    ) -> None:
        self.command = command
        self.log = log
        self.is_ready = is_ready
        self.options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it; `wait_until_ready` waits."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command, stdout=log, stderr=log, preexec_fn=die_with_parent(), **self.options
            )

    def wait_until_ready(self, seconds: float = 180) -> None:
        deadline = time.monotonic() + seconds
        while not self.is_ready():
            assert self._process is not None
            assert self._process.poll() is None, self.tail()
            assert time.monotonic() < deadline, self.tail()
            time.sleep(0.1)

    def kill(self) -> None:
        """SIGKILL, as when its machine is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def signal(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def restart(self) -> None:
        """Kills it, and starts it as what supervises it does."""
        self.kill()
        self.start()

    def tail(self) -> str:
        return f"{self.command[0]} isn't ready: {self.log.read_text(errors='replace')[-2000:]}"


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
