"""Programs as forks of this process: they share the memory of what it has imported (preloading.py)."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from observatory.runtime.supervision.process_title import set_title
from observatory.runtime.supervision.subprocesses import die_with_parent

FORKING = multiprocessing.get_context("fork")
SIGNALS = (signal.SIGINT, signal.SIGTERM)
STANDARD_STREAMS = (1, 2)
"""descriptors of standard output and error"""


class Fork(FORKING.Process):  # type: ignore[name-defined,misc]
    """A fork of this process that runs a Python module, with the methods of subprocess.Popen."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        output: IO[bytes] | None,
        changes: Mapping[str, Any],
    ) -> None:
        """`command`: from subprocesses.python(). `changes`: Django's settings that differ in the fork."""
        super().__init__(name=name)
        self.module, *self.arguments = command[command.index("-m") + 1 :]
        self.output = output
        self.changes = changes
        self.prepare: Callable[[], None] = die_with_parent()
        # until the fork has handlers of its own
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            self.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    def run(self) -> None:
        os.setsid()
        self.prepare()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        if self.output is not None:
            for stream in STANDARD_STREAMS:
                os.dup2(self.output.fileno(), stream)
        self._change_settings()
        set_title(f"observatory {self.name}")
        sys.argv = [self.module, *self.arguments]
        runpy.run_module(self.module, run_name="__main__", alter_sys=True)

    def _change_settings(self) -> None:
        # the demo starts programs, too, without Django
        from django.conf import settings

        for setting, value in self.changes.items():
            setattr(settings, setting, value)

    @property
    def returncode(self) -> int | None:
        return self.exitcode  # type: ignore[no-any-return]

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        """Raises subprocess.TimeoutExpired."""
        self.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.name, timeout or 0.0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)
