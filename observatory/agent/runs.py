"""Opens runs from client code: `with observatory.run("nightly etl", tags={"git": sha}):`.

The client calls a handler of the agent on the scheduler, so the client needs neither a token nor a route to
Observatory. Errors never reach the script: each is logged once as a warning.
"""

from __future__ import annotations

import asyncio
import getpass
import inspect
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any
from uuid import uuid4

from distributed import Client

from observatory.agent.client_activities import Activities, unwatch, watch
from observatory.agent.environment import describe
from observatory.agent.process_end import handle_signals
from observatory.agent.run_exception import describe_exception
from observatory.agent.submitting_runs import SubmittingRun
from observatory.agent.trace_context import link_trace, trace_tags
from observatory.agent.workflow_tags import workflow_tags
from observatory.wire.client_code.ci import ci_tags
from observatory.wire.client_code.runs import (
    ERRED,
    FINISHED,
    LONGEST_NAME,
    LONGEST_USER,
    METADATA,
    NOT_RECORDED,
    READS_RUNS,
    RUNNING,
    SERVER,
    WITHOUT_END,
    clean_code,
    clean_line,
    clean_tags,
    page_of_run,
)
from observatory.wire.client_code.submitted_code import Frame, around_calls, code_of_frames

log = logging.getLogger("observatory")

TIMEOUT = 5.0
"""Most seconds that a script waits for the scheduler's answer."""
CONNECTING = 0.05
"""Seconds between two looks at a client that connects."""
LONGEST_SERVER = 2_000
LINES_AROUND = 100
"""before and after the line that opened a run, in files that are long"""
NO_AGENT = "the scheduler has no Observatory agent (docs/agent.md)"

_warned: set[str] = set()


def run(
    name: str = "",
    tags: Mapping[str, Any] | None = None,
    *,
    client: Client | None = None,
    filename: str = "",
    stacklevel: int = 1,
    mode: Any = None,
    storage_options: Any = None,
    to: str | os.PathLike[str] | None = None,
) -> OpenRun:
    """A run that lasts as long as the `with` or `async with` block, on the cluster of `client`.

    The default of `client` is the current client. `filename`, `stacklevel`, `mode` and `storage_options` are
    accepted so that `run` can replace `distributed.performance_report`; no file is written. Without `name`
    the run is named after `filename`, else after the function that opens it. An exception in the block marks
    the run as failed and is raised again.

    `to` needs no server: the run is written to this file, a bundle, when the block is left. What would
    prevent that raises before the block begins.
    """
    frame = _frame(stacklevel)
    called = clean_line(_stem(name) or _stem(filename) or _function(frame), LONGEST_NAME)
    description: dict[str, Any] = {"name": called, "tags": _tags(tags), "user": _user(), "code": _code(frame)}
    description["environment"] = _environment()
    if to is None:
        return OpenRun(client, description)
    from observatory.agent.recorded_runs import RecordedRun

    return RecordedRun(client, description, to)


class OpenRun:
    """The context manager that `run` returns. `outcome` is "" until it is entered."""

    show: Callable[[OpenRun], dict[str, str]] | None = None
    """what notebooks show of it, by media type; observatory/__init__.py sets it, for agents have no client"""

    def __init__(self, client: Client | None, description: dict[str, Any]) -> None:
        self.id = uuid4().hex
        self.description = description
        self.outcome = ""
        self.server = ""
        """address of Observatory as the agent knows it"""
        self.file = ""
        """the bundle that it is written to, if there is one"""
        self.warn = _warn
        """tells why it isn't recorded"""
        self._client: Any = client
        self._started = 0.0
        self._ended = 0.0
        self._has_agent = True
        self._lock = asyncio.Lock()
        self._activities: Activities | None = None
        self._submitting: SubmittingRun | None = None
        self._report: asyncio.Future[None] | None = None
        """Keeps a reference to the call of an asynchronous client, which a plain `with` cannot await."""

    @property
    def seconds(self) -> float:
        """How long it has been open, by the client's clock."""
        return (self._ended or time.monotonic()) - self._started if self._started else 0.0

    @property
    def is_recorded(self) -> bool:
        """An agent answered."""
        return self._has_agent and self._client is not None and bool(self.outcome)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {} if OpenRun.show is None else OpenRun.show(self)

    def __enter__(self) -> OpenRun:
        if self._find_client():
            self._send_and_wait(RUNNING)
            self._watch()
            handle_signals()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        outcome = self._end(kind, error)
        if self._client is not None:
            self._unwatch()
            self._send_and_wait(*outcome)

    async def __aenter__(self) -> OpenRun:
        if self._find_client():
            await self._send_from_loop(RUNNING)
            self._watch()
            handle_signals()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        outcome = self._end(kind, error)
        if self._client is not None:
            self._unwatch()
            await self._send_from_loop(*outcome)

    def _end(self, kind: type[BaseException] | None, error: BaseException | None) -> tuple[str, str]:
        self._ended = time.monotonic()
        outcome = _outcome(kind, error)
        self.outcome = outcome[0]
        if error is not None and self.outcome == ERRED:
            self.description["exception"] = describe_exception(error)
        if not self.file:
            link_trace(page_of_run(self.server, self.id))
        return outcome

    def _find_client(self) -> bool:
        self._started, self.outcome = time.monotonic(), RUNNING
        if self._client is None:
            try:
                self._client = Client.current()
            except ValueError:
                self.warn("there is no Dask client")
        self._submitting = SubmittingRun(self._client, self.id)
        return self._client is not None

    def _watch(self) -> None:
        if self._has_agent:
            self._activities = watch(self._client)
            assert self._submitting is not None
            self._submitting.activities = self._activities
            self._submitting.enter()

    def _unwatch(self) -> None:
        if self._activities is not None and self._submitting is not None:
            self._submitting.leave()
            unwatch(self._activities)
            self.description["activities"] = self._activities.since(self._started)

    def _send_and_wait(self, *outcome: str) -> None:
        try:
            sent = self._client.sync(self._send, *outcome)
            if self._client.asynchronous:
                self._report = asyncio.ensure_future(sent)
        except Exception as error:  # the client is closed
            self._warn_of(error, outcome[0])

    async def _send_from_loop(self, *outcome: str) -> None:
        if self._client.asynchronous:
            await self._send(*outcome)
        else:
            await asyncio.to_thread(self._send_and_wait, *outcome)

    async def _send(self, outcome: str, exception_type: str = "") -> None:
        """Calls the agent's handler on the scheduler. Runs on the client's event loop; never raises."""
        async with self._lock:
            if not self._has_agent:
                return
            try:
                answer = await asyncio.wait_for(self._call(outcome, exception_type), TIMEOUT)
            except Exception as error:  # the scheduler is gone or busy
                self._warn_of(error, outcome)
                return
            if not isinstance(answer, Mapping) or answer.get("status") != "OK":
                self._has_agent = False
                self.warn(NO_AGENT)
            elif self._submitting is not None:
                self._submitting.is_read = bool(answer.get(READS_RUNS))
                self.server = clean_line(answer.get(SERVER, ""), LONGEST_SERVER)

    def _warn_of(self, error: Exception, outcome: str) -> None:
        has_begun = outcome != RUNNING and bool(self.server)
        text = f"{type(error).__name__}: {error}".removesuffix(": ")
        self.warn(text, WITHOUT_END if has_begun else NOT_RECORDED)

    async def _call(self, outcome: str, exception_type: str) -> Any:
        """Calls the handler if the scheduler has it; returns its answer, else None."""
        scheduler = await self._connected_scheduler()
        if not await scheduler.get_metadata(keys=[METADATA], default=False):
            return None
        now = time.monotonic()
        ended = {} if outcome == RUNNING else {"seconds_since_end": now - self._ended}
        return await scheduler.observatory_run(
            run=self.id,
            outcome=outcome,
            seconds=now - self._started,
            client=self._client.id,
            description={**self.description, **ended},
            exception_type=exception_type,
        )

    async def _connected_scheduler(self) -> Any:
        """The client's connection, when it is made. Raises RuntimeError if the client is closed."""
        while self._client.scheduler is None:
            if self._client.status not in ("newly-created", "connecting"):
                raise RuntimeError(f"the Dask client is {self._client.status}")
            await asyncio.sleep(CONNECTING)
        return self._client.scheduler


def _outcome(kind: type[BaseException] | None, error: BaseException | None) -> tuple[str, str]:
    if kind is None or (isinstance(error, SystemExit) and not error.code):
        return FINISHED, ""
    return ERRED, kind.__name__


def _warn(reason: str, what: str = NOT_RECORDED) -> None:
    """Logs each reason once per process."""
    if reason not in _warned:
        _warned.add(reason)
        log.warning("this run %s: %s", what, reason)


def _frame(stacklevel: int) -> FrameType | None:
    """The frame that called `run`, or one `stacklevel - 1` frames above it."""
    try:
        return sys._getframe(1 + max(stacklevel, 1))
    except (ValueError, TypeError):  # the stack is not that deep
        return None


def _stem(filename: Any) -> str:
    text = clean_line(filename, 1_000)
    return Path(text).stem if text.endswith(".html") else text


def _function(frame: FrameType | None) -> str:
    if frame is None:
        return "run"
    function, path = frame.f_code.co_name, Path(frame.f_code.co_filename)
    if function != "<module>":
        return function
    # the file name of code from a shell or a notebook cell is meaningless
    is_file = path.suffix == ".py" and not path.parent.name.startswith("ipykernel")
    return path.name if is_file else "run"


def _code(frame: FrameType | None) -> str:
    """The source around the line that opened the run, of its function or file."""
    try:
        if frame is None:
            return ""
        lines, first = inspect.getsourcelines(frame)
        opened = Frame("".join(lines), frame.f_code.co_filename, max(1, first), (frame.f_lineno,))
        return clean_code(code_of_frames(around_calls([opened], LINES_AROUND, LINES_AROUND)))
    except Exception:  # no source is available
        return ""


def _tags(tags: Any) -> dict[str, str]:
    """The tags, and those of the job of CI, the workflow and the trace, which they may replace."""
    try:
        given = clean_tags(tags)
    except Exception:  # a mapping that raises
        given = {}
    found = {**ci_tags(os.environ), **workflow_tags(os.environ), **trace_tags(os.environ)}
    return clean_tags({**given, **{name: tag for name, tag in found.items() if name not in given}})


def _environment() -> dict[str, Any]:
    try:
        return describe("client")
    except Exception:  # a system that tells nothing
        return {}


def _user() -> str:
    try:
        return clean_line(getpass.getuser(), LONGEST_USER)
    except Exception:  # the system does not know the user
        return ""
