"""Starts programs in order, restarts them, stops them by stages."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from observatory.runtime.errors import StartupError
from observatory.runtime.supervision.logs import Logs
from observatory.runtime.supervision.program import Program, Stage, stop_together

log = logging.getLogger(__name__)

INTERVAL = 0.5
"""seconds between two checks of the programs"""


class Supervisor:
    """Runs programs; their output goes to `logs`. Calls `progress` with what is started and ready."""

    def __init__(self, logs: Logs, progress: Callable[[str], object] = lambda line: None) -> None:
        self.logs = logs
        self.progress = progress
        self.programs: list[Program] = []
        self.stopping = False
        self._due: dict[str, float] = {}

    def start(self, program: Program, timeout: float = 60.0) -> None:
        """Start `program` and wait until it is ready. Raises StartupError."""
        self.launch(program)
        self.wait_until_ready(program, timeout)

    def launch(self, program: Program) -> None:
        """Start `program` without waiting."""
        self.progress(f"{program.name}: starting …")
        self.programs.append(program)
        self._run(program)

    def wait_until_ready(self, program: Program, timeout: float = 60.0) -> None:
        """Raises StartupError on failure, KeyboardInterrupt when the supervisor is stopping."""
        deadline = time.monotonic() + timeout
        while not program.is_ready():
            if not program.is_running:
                raise StartupError(f"{program.name} ended during startup{self.logs.last_line(program.name)}")
            if time.monotonic() > deadline:
                raise StartupError(
                    f"{program.name} was not ready after {timeout:.1f} s{self.logs.last_line(program.name)}"
                )
            self._wait()
        self.progress(f"{program.name}: ready")

    def run(self, program: Program, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Run `program` to its end, and `meanwhile` beside it. Raises StartupError if it fails."""
        self.launch(program)
        meanwhile()
        while program.is_running:
            self._wait()
        self.programs.remove(program)
        if program.process and program.process.returncode:
            raise StartupError(f"{program.name} failed{self.logs.last_line(program.name)}")
        self.progress(f"{program.name}: done")

    def watch(self) -> None:
        """Restart programs that end, until `stopping` is set."""
        while not self.stopping:
            for program in self.programs:
                self._restart_if_due(program)
            self.logs.follow()
            time.sleep(INTERVAL)

    def stop(self) -> None:
        """Stop all programs, one stage after the other."""
        self.stopping = True
        for stage in sorted(Stage, reverse=True):
            stop_together([program for program in self.programs if program.stage is stage])
        self.logs.follow()

    def _wait(self) -> None:
        if self.stopping:
            raise KeyboardInterrupt
        self.logs.follow()
        time.sleep(INTERVAL / 5)

    def _restart_if_due(self, program: Program) -> None:
        if program.is_running or not program.restarts:
            return
        due = self._due.get(program.name)
        if due is None:
            assert program.process is not None
            self._due[program.name] = program.next_start()
            log.warning("%s ended with %s and will be restarted", program.name, program.process.returncode)
        elif time.monotonic() >= due:
            del self._due[program.name]
            try:
                self._run(program)
            except OSError as error:  # no memory, or no disk space for its log
                self._due[program.name] = program.next_start()
                log.warning("%s cannot be started yet: %s", program.name, error)

    def _run(self, program: Program) -> None:
        with self.logs.open(program.name) as output:
            program.start(output)
