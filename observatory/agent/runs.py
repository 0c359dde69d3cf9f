"""Runs that are opened from code: `with observatory.run("nightly etl", tags={"git": sha}):`.

What a client tells goes through the scheduler to the agent there: no token, and no way to Observatory, is
needed on the client. Whatever goes wrong, the script goes on: a warning says what, once.
"""

from __future__ import annotations

import asyncio
import getpass
import inspect
import logging
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any
from uuid import uuid4

from distributed import Client

from observatory.wire.runs import (
    ERRED,
    FINISHED,
    LONGEST_NAME,
    LONGEST_USER,
    RUNNING,
    clean_code,
    clean_line,
    clean_tags,
)

log = logging.getLogger("observatory")

TIMEOUT = 5.0
"""seconds that a script waits for the scheduler's answer"""
NO_AGENT = "no agent of Observatory answered on the scheduler (docs/agent.md)"

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
) -> OpenRun:
    """Opens a run for as long as the `with` or `async with` block lasts, on the cluster of `client`.

    `client` is the current one unless it is given. `filename`, `stacklevel`, `mode` and `storage_options` are
    `performance_report`'s, whose place it takes: a run without a name is called after the file, or else the
    function that opens it. No file is written. An exception in the block marks the run, and goes on.
    """
    frame = _frame(stacklevel)
    called = clean_line(_stem(name) or _stem(filename) or _function(frame), LONGEST_NAME)
    return OpenRun(client, {"name": called, "tags": _tags(tags), "user": _user(), "code": _code(frame)})


class OpenRun:
    """A run while it is open."""

    def __init__(self, client: Client | None, told: Mapping[str, Any]) -> None:
        self.id = uuid4().hex
        self.told = told
        self._client: Any = client
        self._began = 0.0
        self._is_known = True
        self._order = asyncio.Lock()
        self._saying: asyncio.Future[None] | None = None
        """of an asynchronous client, which can't be waited for in a `with`"""

    def __enter__(self) -> OpenRun:
        if self._begins():
            self._say_and_wait(RUNNING)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._client is not None:
            self._say_and_wait(*_outcome(kind, error))

    async def __aenter__(self) -> OpenRun:
        if self._begins():
            await self._say_from_loop(RUNNING)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._client is not None:
            await self._say_from_loop(*_outcome(kind, error))

    def _begins(self) -> bool:
        self._began = time.monotonic()
        if self._client is None:
            try:
                self._client = Client.current()
            except ValueError:
                _warn("there is no client")
        return self._client is not None

    def _say_and_wait(self, *what: str) -> None:
        try:
            said = self._client.sync(self._say, *what)
            if self._client.asynchronous:
                self._saying = asyncio.ensure_future(said)
        except Exception as error:  # a client that is closed
            _warn(f"{type(error).__name__}: {error}")

    async def _say_from_loop(self, *what: str) -> None:
        if self._client.asynchronous:
            await self._say(*what)
        else:
            await asyncio.to_thread(self._say_and_wait, *what)

    async def _say(self, outcome: str, exception_type: str = "") -> None:
        """Tells the scheduler, on the client's event loop; one after the other, and raises nothing."""
        async with self._order:
            if not self._is_known:
                return
            try:
                call = self._client.scheduler.observatory_run(
                    run=self.id,
                    outcome=outcome,
                    seconds=time.monotonic() - self._began,
                    client=self._client.id,
                    told=self.told,
                    exception_type=exception_type,
                )
                answer = await asyncio.wait_for(call, TIMEOUT)
            except Exception as error:  # the scheduler is away or busy
                _warn(f"{type(error).__name__}: {error}")
                return
            if not isinstance(answer, Mapping) or answer.get("status") != "OK":
                self._is_known = False
                _warn(NO_AGENT)


def _outcome(kind: type[BaseException] | None, error: BaseException | None) -> tuple[str, str]:
    is_well = kind is None or (isinstance(error, SystemExit) and not error.code)
    return (FINISHED, "") if is_well or kind is None else (ERRED, kind.__name__)


def _warn(reason: str) -> None:
    if reason not in _warned:
        _warned.add(reason)
        log.warning("this run isn't told to Observatory: %s", reason)


def _frame(stacklevel: int) -> FrameType | None:
    """That of the code that called `run`, or so many above."""
    try:
        return sys._getframe(1 + max(stacklevel, 1))
    except (ValueError, TypeError):  # less deep than that
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
    # what is typed into a shell or a notebook has no file that means anything
    is_file = path.suffix == ".py" and not path.parent.name.startswith("ipykernel")
    return path.name if is_file else "run"


def _code(frame: FrameType | None) -> str:
    try:
        return clean_code(inspect.getsource(frame)) if frame is not None else ""
    except Exception:  # there is no source, or it isn't Python's
        return ""


def _tags(tags: Any) -> dict[str, str]:
    try:
        return clean_tags(tags)
    except Exception:  # somebody's own mapping
        return {}


def _user() -> str:
    try:
        return clean_line(getpass.getuser(), LONGEST_USER)
    except Exception:  # nobody that the system knows
        return ""
