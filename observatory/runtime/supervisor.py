"""Starts programs in order, keeps them running, stops them in the opposite order."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from observatory.runtime.errors import RuntimeFault
from observatory.runtime.program import Program, log_file

log = logging.getLogger(__name__)

LOOK_EVERY = 0.2


class Supervisor:
    """`logs`: the folder of the programs' output; None shows it on the terminal."""

    def __init__(self, logs: Path | None) -> None:
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
        deadline = time.monotonic() + timeout
        while not program.is_ready():
            if self.stopping:
                raise KeyboardInterrupt
            if not program.is_running:
                raise RuntimeFault(f"{program.name} ended at once{self._last_words(program)}")
            if time.monotonic() > deadline:
                raise RuntimeFault(
                    f"{program.name} wasn't ready after {timeout:.0f} s{self._last_words(program)}"
                )
            time.sleep(LOOK_EVERY / 2)

    def watch(self) -> None:
        """Restarts what ends, until `stopping` is set."""
        while not self.stopping:
            for program in self.programs:
                self._look_after(program)
            time.sleep(LOOK_EVERY)

    def stop(self) -> None:
        """Stops all, the last started first."""
        self.stopping = True
        for program in reversed(self.programs):
            program.stop()

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
        if self.logs is None:
            program.start(None)
            return
        with log_file(self.logs, program.name) as output:
            program.start(output)

    def _last_words(self, program: Program) -> str:
        if self.logs is None:
            return ""
        path = self.logs / f"{program.name}.log"
        lines = path.read_text(errors="replace")[-4000:].strip().splitlines()
        return f": {lines[-1].strip()[:300]} (all of it in {path})" if lines else ""
