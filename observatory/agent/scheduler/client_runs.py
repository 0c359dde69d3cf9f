"""Runs that clients open (runs.py): the scheduler's side, whose clock says when."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from time import time
from typing import Any

from distributed import Scheduler

from observatory.agent.delivery.buffer import Buffer
from observatory.wire.runs import (
    ERRED,
    LONGEST_NAME,
    LONGEST_TAG,
    LONGEST_USER,
    OUTCOMES,
    RUNNING,
    clean_code,
    clean_line,
    clean_tags,
)

HANDLER = "observatory_run"
RUN = re.compile(r"[0-9a-f]{32}")
MOST_OPEN = 10_000
GONE = "the client went away"


@dataclass(frozen=True)
class ClientRun:
    client: str
    start: float
    told: tuple[str, str, str, str]
    """name, tags, user, code"""


class ClientRuns:
    """Rows of kind `run`. What is told comes from anybody who has a client: it is cut and cleaned."""

    def __init__(self, scheduler: Scheduler, buffer: Buffer) -> None:
        self.scheduler = scheduler
        self._run = buffer.appender("run")
        self._open: dict[str, ClientRun] = {}

    def install(self) -> None:
        self.scheduler.handlers[HANDLER] = self.take

    def uninstall(self) -> None:
        del self.scheduler.handlers[HANDLER]

    def take(
        self,
        run: Any = "",
        outcome: Any = "",
        seconds: Any = 0.0,
        client: Any = "",
        told: Any = None,
        exception_type: Any = "",
    ) -> dict[str, Any]:
        """Dask's comm handler: a run was opened, or ended `seconds` after it was opened."""
        if not isinstance(run, str) or not RUN.fullmatch(run) or outcome not in OUTCOMES:
            return {"status": "refused"}
        now = time()
        opened = self._open.pop(run, None)
        if opened is None:
            is_length = outcome != RUNNING and isinstance(seconds, (int, float)) and 0 <= seconds < now
            start = now - seconds if is_length else now
            opened = ClientRun(clean_line(client, LONGEST_NAME), start, _told(told))
        if outcome == RUNNING:
            self._open[run] = opened
            if len(self._open) > MOST_OPEN:
                del self._open[next(iter(self._open))]
        self._tell(now, run, outcome, opened, clean_line(exception_type, LONGEST_TAG))
        return {"status": "OK"}

    def client_left(self, client: str) -> None:
        """Ends what it leaves open: a script that was killed says nothing any more."""
        now = time()
        for run in [run for run, opened in self._open.items() if opened.client == client]:
            self._tell(now, run, ERRED, self._open.pop(run), GONE)

    def _tell(self, now: float, run: str, outcome: str, opened: ClientRun, exception_type: str) -> None:
        self._run((now, opened.start, run, outcome, *opened.told, exception_type))


def _told(told: Any) -> tuple[str, str, str, str]:
    known: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    return (
        clean_line(known.get("name"), LONGEST_NAME),
        json.dumps(clean_tags(known.get("tags"))),
        clean_line(known.get("user"), LONGEST_USER),
        clean_code(known.get("code")),
    )
