"""Tasks that erred, attempt by attempt, and the workers that died with them."""

from __future__ import annotations

import contextlib
import functools
import json
import pickle
from collections.abc import Callable, Iterable, Mapping
from time import time
from typing import Any

from distributed import Scheduler

from observatory.agent.delivery.buffer import Buffer

MAXIMUM_REMEMBERED = 100_000
"""tasks whose earlier workers are remembered"""
MAXIMUM_TEXT = 100_000
ERROR = 1
MESSAGE = "task-erred"


class Errors:
    """Takes the message of each failed attempt before and after the scheduler acts on it."""

    def __init__(
        self,
        scheduler: Scheduler,
        buffer: Buffer,
        timed: Callable[[Any, int, Mapping[str, Any]], None],
    ) -> None:
        self.scheduler = scheduler
        self.timed = timed
        self._append = buffer.appender("error")
        self._workers: dict[Any, list[str]] = {}
        """where a task failed or died before, in order"""
        self._erring: Any = None
        """the task whose failed attempt the scheduler is acting on, as a list of one"""
        self._dependents = 0

    def install(self) -> None:
        """Reads the workers' messages of failed attempts: no hook tells of one that another follows."""
        self._handler = handler = self.scheduler.stream_handlers[MESSAGE]
        self.scheduler.stream_handlers[MESSAGE] = functools.partial(self._handle, handler)

    def uninstall(self) -> None:
        self.scheduler.stream_handlers[MESSAGE] = self._handler

    def _handle(self, handle: Callable[..., Any], key: Any = None, **message: Any) -> Any:
        before = self._attempt(key)
        self._erring, self._dependents = [key], 0
        try:
            return handle(key=key, **message)
        finally:
            self._erring = None
            with contextlib.suppress(Exception):  # the scheduler goes on
                self._attempted(key, before, message)

    def _attempt(self, key: Any) -> tuple[Any, str, int] | None:
        state = self.scheduler.tasks.get(key)
        return None if state is None else (state, state.state, state.retries)

    def _attempted(self, key: Any, before: tuple[Any, str, int] | None, message: Mapping[str, Any]) -> None:
        if before is None:
            return
        task, state, retries = before
        erred = state != "erred" and task.state == "erred"
        if not erred and task.retries >= retries:
            return  # a message that came too late: the scheduler ignored it
        now = time()
        worker = str(message.get("worker") or "")
        workers = self._remember(key, worker)
        self.timed(key, ERROR, message)
        text = _text(message.get("exception_text"))
        kind, said = split(text)
        outcome = "erred" if erred else "retried"
        trace = _text(message.get("traceback_text"))
        dependents = max(0, self._dependents - 1) if erred else 0
        left = max(0, task.retries)
        self._append((now, key, worker, outcome, kind, said, trace, left, json.dumps(workers), dependents))

    def erred(self, key: Any, now: float, message: Mapping[str, Any]) -> None:
        """A task became erred. Records what no worker told of: its workers died, or none may run it."""
        if self._erring is not None:
            self._dependents += 1
            return
        if "exception" not in message:
            return  # it needs one that erred, which is recorded
        worker = str(message.get("worker") or "")
        error = _unpickled(message["exception"])
        kind = type(error).__name__ if error is not None else split(_text(message.get("exception_text")))[0]
        said = _shown(error) if error is not None else _text(message.get("exception_text"))
        outcome = "killed" if kind == "KilledWorker" else "erred"
        workers = self._remember(key, worker)
        self._append((now, key, worker, outcome, kind, said, "", 0, json.dumps(workers), 0))

    def died(self, keys: Iterable[Any], worker: str) -> None:
        """A worker is gone that was processing these tasks."""
        for key in keys:
            self._remember(key, worker)

    def _remember(self, key: Any, worker: str) -> list[str]:
        if len(self._workers) >= MAXIMUM_REMEMBERED:
            self._workers.pop(next(iter(self._workers)))
        workers = self._workers.setdefault(key, [])
        if worker and (not workers or workers[-1] != worker):
            workers.append(worker)
        return workers

    def forget(self, key: Any) -> None:
        self._workers.pop(key, None)


def split(text: str) -> tuple[str, str]:
    """(type, message) of an exception that Dask shows as `repr`: ValueError('no')."""
    name, bracket, rest = text.partition("(")
    if not bracket or not all(part.isidentifier() for part in name.split(".")):
        return "", text
    said = rest.removesuffix(")")
    if len(said) > 1 and said[0] in "'\"" and said[-1] == said[0]:
        said = said[1:-1].replace("\\n", "\n").replace("\\'", "'").replace('\\"', '"')
    return name, said


def _text(value: Any) -> str:
    return value[:MAXIMUM_TEXT] if isinstance(value, str) else ""


def _unpickled(exception: Any) -> BaseException | None:
    """The scheduler's own exception, which it pickled itself a moment ago; None for one of a worker's."""
    if not isinstance(exception, bytes):
        return None
    try:
        error = pickle.loads(exception)
    except Exception:
        return None
    return error if isinstance(error, BaseException) else None


def _shown(error: BaseException) -> str:
    try:
        return str(error)[:MAXIMUM_TEXT]
    except Exception:  # somebody's own __str__
        return ""
