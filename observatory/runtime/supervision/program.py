"""One supervised program: how it is started, when it is ready, how it is stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from observatory.runtime.supervision.children import dying_with_us, python_environment

SHORTEST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
SETTLED = 30.0
"""seconds that a program has to run for its next restart to be prompt again"""


@dataclass(slots=True)
class Program:
    name: str
    command: Sequence[str]
    is_ready: Callable[[], bool]
    stop_signal: signal.Signals = signal.SIGTERM
    patience: float = 15.0
    """seconds to stop in before it is killed"""
    restarts: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    """for subprocess.Popen: the account"""
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    """time.monotonic()"""
    pause: float = SHORTEST_PAUSE

    def start(self, output: IO[bytes] | None = None) -> None:
        """Starts it in a process group of its own; it dies with the thread that calls this.

        `output` takes what it prints; None: it shares ours.
        """
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            self.command,
            env={**python_environment(), **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            start_new_session=True,
            preexec_fn=dying_with_us(),
            **self.options,
        )

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def next_start(self) -> float:
        """When to start it again after it ended, in time.monotonic(): the pause doubles while it fails."""
        ended = time.monotonic()
        self.pause = SHORTEST_PAUSE if ended - self.started > SETTLED else min(self.pause * 2, LONGEST_PAUSE)
        return ended + self.pause

    def stop(self) -> None:
        """Asks it to stop, waits, and kills what is left of its process group."""
        if self.process is None:
            return
        if self.is_running:
            self.process.send_signal(self.stop_signal)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(self.patience)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
