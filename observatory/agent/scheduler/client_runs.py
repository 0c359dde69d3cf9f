"""Records the runs that clients open (agent/runs.py), timed by the scheduler's clock."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf
from time import time
from typing import Any

from distributed import Scheduler

from observatory.agent.delivery.buffer import Buffer
from observatory.wire.client_code.runs import (
    ACTIVITIES,
    CLIENT_LEFT,
    ERRED,
    LONGEST_MESSAGE,
    LONGEST_NAME,
    LONGEST_TAG,
    LONGEST_USER,
    METADATA,
    MOST_ACTIVITIES,
    OUTCOMES,
    READS_RUNS,
    RUNNING,
    SCHEDULER_CLOSED,
    SERVER,
    clean_code,
    clean_line,
    clean_tags,
    clean_traceback,
)
from observatory.wire.event_kinds import CLIENT_DESCRIBED, RUN_RAISED
from observatory.wire.records import UNFINISHED_STATES

HANDLER = "observatory_run"
RUN = re.compile(r"[0-9a-f]{32}")
MOST_OPEN = 10_000
LONGEST_ENVIRONMENT = 50_000
"""characters of JSON"""


@dataclass(frozen=True)
class ClientRun:
    """A run that is open."""

    client: str
    start: float
    """Seconds, scheduler's clock."""
    description: tuple[str, str, str, str]
    """Name, tags (JSON), user, code."""


class ClientRuns:
    """Makes rows of kinds `run`, `client_activity` and `event`.

    Any client can call the handler, so its arguments are checked and cleaned.
    """

    def __init__(
        self, scheduler: Scheduler, buffer: Buffer, write_now: Callable[[], Awaitable[None]], server: str
    ) -> None:
        """`write_now` returns when what is in the buffer is on disk. `server` is told to clients."""
        self._server = server
        self.scheduler = scheduler
        self._write_now = write_now
        self._append = buffer.appender("run")
        self._append_activity = buffer.appender("client_activity")
        self._event = buffer.appender("event")
        self._open: dict[str, ClientRun] = {}

    def install(self) -> None:
        self.scheduler.handlers[HANDLER] = self.take
        self.announce()

    def announce(self) -> None:
        """Lets clients know that there is a handler: Dask logs a traceback for a call of an unknown one."""
        self.scheduler.set_metadata(keys=[METADATA], value=True)

    def uninstall(self) -> None:
        self.scheduler.task_metadata.pop(METADATA, None)
        del self.scheduler.handlers[HANDLER]

    async def take(
        self,
        run: Any = "",
        outcome: Any = "",
        seconds: Any = 0.0,
        client: Any = "",
        description: Any = None,
        exception_type: Any = "",
    ) -> dict[str, Any]:
        """Dask comm handler: a client opened a run, or ended it `seconds` after it was opened.

        `description` has the run's name, tags, user and code (OpenRun.description), the
        environment of its process, at its end also its activities, the exception that its code raised and
        the seconds since then: agents of earlier versions ignore these.
        Of a run that ended, everything that was recorded is on disk before the client gets its answer: its
        script may be over then.
        """
        if not isinstance(run, str) or not RUN.fullmatch(run) or outcome not in OUTCOMES:
            return {"status": "refused"}
        now = time()
        is_valid = outcome != RUNNING and isinstance(seconds, (int, float)) and 0 <= seconds < now
        start = now - seconds if is_valid else now
        client_run = self._open.pop(run, None)
        if client_run is None:
            client_run = ClientRun(clean_line(client, LONGEST_NAME), start, _cleaned(description))
        if outcome == RUNNING:
            self._open[run] = client_run
            if len(self._open) > MOST_OPEN:
                del self._open[next(iter(self._open))]
            self._record_environment(now, run, client_run.client, description)
        end = max(now - _seconds_since_end(description), client_run.start)
        kind = clean_line(exception_type, LONGEST_TAG)
        self._record(end, run, outcome, client_run, kind)
        if outcome == ERRED:
            self._record_exception(end, run, kind, description)
        if is_valid and isinstance(description, Mapping):
            # both messages came later than they were sent: the earlier of their starts is closer
            self._record_activities(min(start, client_run.start), now, run, description.get("activities"))
        if outcome != RUNNING:
            await self._write_now()
        return {"status": "OK", READS_RUNS: True, SERVER: self._server}

    def client_left(self, client: str) -> None:
        """Ends the runs of a client that disconnected: a killed script cannot end them itself."""
        self._fail([id for id, client_run in self._open.items() if client_run.client == client], CLIENT_LEFT)

    def scheduler_closes(self) -> None:
        """Ends the runs whose client waits for tasks: it can't tell the end to a scheduler that has closed.

        Others are left open: their code may close the cluster as the last thing that it does.
        """
        waiting = {
            id
            for id, client in self.scheduler.clients.items()
            if any(task.state in UNFINISHED_STATES for task in client.wants_what)
        }
        runs = [id for id, client_run in self._open.items() if client_run.client in waiting]
        self._fail(runs, SCHEDULER_CLOSED)

    def process_ends(self, reason: str) -> None:
        """Ends all runs, because the scheduler's process was ended."""
        self._fail(list(self._open), reason)

    def _fail(self, runs: Iterable[str], reason: str) -> None:
        now = time()
        for run in runs:
            self._record(now, run, ERRED, self._open.pop(run), reason)

    def _record(self, at: float, run: str, outcome: str, client_run: ClientRun, exception_type: str) -> None:
        self._append((at, client_run.start, run, outcome, *client_run.description, exception_type))

    def _record_environment(self, now: float, run: str, client: str, description: Any) -> None:
        """Records what the client told of its process; clients of earlier versions tell nothing."""
        environment = description.get("environment") if isinstance(description, Mapping) else None
        if not isinstance(environment, Mapping) or not environment:
            return
        message = f"{client} told its versions and configuration"
        try:
            detail = json.dumps(
                {**environment, "message": message, "client": client, "run": run}, default=str, skipkeys=True
            )
        except (ValueError, RecursionError):
            return
        if len(detail) <= LONGEST_ENVIRONMENT:
            self._event((now, CLIENT_DESCRIBED, "", detail))

    def _record_exception(self, end: float, run: str, kind: str, description: Any) -> None:
        """Records what the run's code raised; clients of earlier versions tell its type alone."""
        raised = description.get("exception") if isinstance(description, Mapping) else None
        if not isinstance(raised, Mapping):
            return
        message = clean_line(raised.get("message"), LONGEST_MESSAGE)
        detail = {
            "message": f"the code of a run raised {': '.join(filter(None, (kind, message)))}",
            "run": run,
            "exception_type": kind,
            "exception_message": message,
            "traceback": clean_traceback(raised.get("traceback")),
        }
        self._event((end, RUN_RAISED, "", json.dumps(detail)))

    def _record_activities(self, start: float, now: float, run: str, activities: Any) -> None:
        if not isinstance(activities, (list, tuple)):
            return
        for one in activities[:MOST_ACTIVITIES]:
            if _is_activity(one):
                activity, first, last = one
                self._append_activity((min(start + first, now), min(start + last, now), run, activity))


def _seconds_since_end(description: Any) -> float:
    """How long ago the block was left when its client sent this; 0 from clients of earlier versions."""
    seconds = description.get("seconds_since_end") if isinstance(description, Mapping) else None
    return float(seconds) if isinstance(seconds, (int, float)) and 0 <= seconds < inf else 0.0


def _is_activity(value: Any) -> bool:
    """Whether it is an activity, its start and its end (seconds since the start of its run)."""
    if not isinstance(value, (list, tuple)) or len(value) != 3 or value[0] not in ACTIVITIES:
        return False
    _, first, last = value
    return isinstance(first, float) and isinstance(last, float) and 0 <= first <= last < inf


def _cleaned(description: Any) -> tuple[str, str, str, str]:
    known: Mapping[str, Any] = description if isinstance(description, Mapping) else {}
    return (
        clean_line(known.get("name"), LONGEST_NAME),
        json.dumps(clean_tags(known.get("tags"))),
        clean_line(known.get("user"), LONGEST_USER),
        clean_code(known.get("code")),
    )
