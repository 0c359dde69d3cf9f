"""Starts programs in order, keeps them running, stops them in the opposite order."""

from __future__ import annotations

import logging
import time

from observatory.runtime.errors import RuntimeFault
from observatory.runtime.supervision.logs import Logs
from observatory.runtime.supervision.program import Program

log = logging.getLogger(__name__)

LOOK_EVERY = 0.2


class Supervisor:
    """Runs programs; what they print goes to `logs`."""

    def __init__(self, logs: Logs) -> None:
        self.logs = logs
        self.programs: list[Program] = []
        self.stopping = False
        self._due: dict[str, float] = {}

    def start(self, program: Program, timeout: float = 60.0) -> None:
        """Starts `program` and returns once it is ready. Raises RuntimeFault when it doesn't get so."""
        self.launch(program)
        self.wait_until_ready(program, timeout)

    def launch(self, program: Program) -> None:
        """Starts `program` without waiting for it."""
        self.programs.append(program)
        self._run(program)

    def wait_until_ready(self, program: Program, timeout: float = 60.0) -> None:
        """Raises RuntimeFault when it doesn't get ready, KeyboardInterrupt when it need not any more."""
        deadline = time.monotonic() + timeout
        while not program.is_ready():
            words = self.logs.last_words
            if not program.is_running:
                raise RuntimeFault(f"{program.name} ended at once{words(program.name)}")
            if time.monotonic() > deadline:
                raise RuntimeFault(f"{program.name} wasn't ready after {timeout:.0f} s{words(program.name)}")
            self._rest()

    def run(self, program: Program) -> None:
        """Runs `program` to its end. Raises RuntimeFault when it fails."""
        self.launch(program)
        while program.is_running:
            self._rest()
        self.programs.remove(program)
        if program.process and program.process.returncode:
            raise RuntimeFault(f"{program.name} failed{self.logs.last_words(program.name)}")

    def watch(self) -> None:
        """Restarts what ends, until `stopping` is set."""
        while not self.stopping:
            for program in self.programs:
                self._look_after(program)
            self.logs.follow()
            time.sleep(LOOK_EVERY)

    def stop(self) -> None:
        """Stops all, the last started first."""
        self.stopping = True
        for program in reversed(self.programs):
            program.stop()
        self.logs.follow()

    def _rest(self) -> None:
        if self.stopping:
            raise KeyboardInterrupt
        self.logs.follow()
        time.sleep(LOOK_EVERY / 2)

    def _look_after(self, program: Program) -> None:
        if program.is_running or not program.restarts:
            return
        due = self._due.get(program.name)
        if due is None:
            assert program.process is not None
            self._due[program.name] = program.next_start()
            log.warning("%s ended with %s: it is started again", program.name, program.process.returncode)
        elif time.monotonic() >= due:
            del self._due[program.name]
            self._run(program)

    def _run(self, program: Program) -> None:
        with self.logs.open(program.name) as output:
            program.start(output)
