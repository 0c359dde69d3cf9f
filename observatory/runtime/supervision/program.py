"""A supervised program: how to start it, when it is ready, how to stop it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import IO, Any

from observatory.runtime.supervision.forking import Fork
from observatory.runtime.supervision.subprocesses import die_with_parent, python_environment

MINIMUM_PAUSE, MAXIMUM_PAUSE = 0.5, 30.0
STABLE = 30.0
"""seconds after which a program counts as running well: its next restart is prompt"""


class Stage(IntEnum):
    """Programs of one stage are stopped together, those of the last stage first."""

    SERVICE = 0
    OBSERVATORY = 1
    DEMO = 2
    """its end is still recorded"""


@dataclass(slots=True)
class Program:
    name: str
    command: Sequence[str]
    is_ready: Callable[[], bool]
    stop_signal: signal.Signals = signal.SIGTERM
    stop_timeout: float = 15.0
    """seconds that it has to stop before it is killed"""
    restarts: bool = True
    stage: Stage = Stage.OBSERVATORY
    environment: Mapping[str, str] = field(default_factory=dict)
    """further variables"""
    is_python: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)
    """further arguments of subprocess.Popen: account and working directory"""
    settings: Mapping[str, Any] | None = None
    """None, or it runs in a fork of this process, with these of Django's settings changed"""
    process: subprocess.Popen[bytes] | Fork | None = None
    started: float = 0.0
    """time.monotonic()"""
    pause: float = MINIMUM_PAUSE

    def start(self, output: IO[bytes] | None = None) -> None:
        """Start it in its own process group; it ends with the calling thread.

        `output`: the file for its output; None: that of this process.
        """
        self.started = time.monotonic()
        if self.settings is not None:
            self.process = Fork(self.name, self.command, output, self.settings)
            return
        self.process = subprocess.Popen(
            self.command,
            env={**(python_environment() if self.is_python else os.environ), **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            start_new_session=True,
            preexec_fn=die_with_parent(),
            **self.options,
        )

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def next_start(self) -> float:
        """When to restart it after it ended, in time.monotonic(). The pause doubles while it fails."""
        ended = time.monotonic()
        self.pause = MINIMUM_PAUSE if ended - self.started > STABLE else min(self.pause * 2, MAXIMUM_PAUSE)
        return ended + self.pause

    def stop(self) -> None:
        """Stop it: send the signal, wait, then kill what is left of its process group."""
        stop_together([self])

    def _begin_stop(self) -> None:
        if self.process is not None and self.is_running:
            self.process.send_signal(self.stop_signal)

    def _end_stop(self) -> None:
        if self.process is None:
            return
        assert self.process.pid is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(self.stop_timeout)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def stop_together(programs: Sequence[Program]) -> None:
    """Stop the programs as Program.stop does, all at the same time."""
    for program in programs:
        program._begin_stop()
    for program in programs:
        program._end_stop()
