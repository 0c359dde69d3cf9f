"""Records each failed attempt of a task, and the workers that it failed or died on."""

from __future__ import annotations

import contextlib
import functools
import json
import pickle
import re
from collections.abc import Callable, Iterable, Mapping
from time import time
from typing import Any

from distributed import Scheduler

from observatory.agent.delivery.buffer import Buffer
from observatory.agent.worker.failures.description import TOPIC
from observatory.wire.records import UNFINISHED_STATES

MAXIMUM_REMEMBERED = 100_000
"""Most tasks whose earlier workers are remembered."""
MAXIMUM_TEXT = 100_000
MOST_DESCRIBED = 100
DESCRIPTION = ("causes", "members", "function", "arguments")
NOTHING = dict.fromkeys(DESCRIPTION, "")
ERROR = 1
SHORTENED = re.compile(r"'Long error message', (?:<class '([^']+)'>, )?")
"""Start of the arguments of an exception whose message distributed.core.truncate_exception has cut."""
NAME = re.compile(r"[^\s'\"<]([^'\"\n]{0,198}[^\s'\"])?")
"""A type's name in a `repr`. It may have any characters, but those of a sentence are no name."""
DESCRIBED = re.compile(r"<([^\W\d][\w.]*)[\s:(>]")
MESSAGE = "task-erred"
ACTOR_LOST = ("RuntimeError", "Worker holding Actor was lost")
"""What distributed.scheduler.Scheduler answers who uses it."""


class Errors:
    """Makes rows of kind `error`, from the workers' messages and the transitions that follow from them."""

    def __init__(
        self,
        scheduler: Scheduler,
        buffer: Buffer,
        record_spans: Callable[[Any, int, Mapping[str, Any]], None],
    ) -> None:
        self.scheduler = scheduler
        self.record_spans = record_spans
        self._append = buffer.appender("error")
        self._workers: dict[Any, list[str]] = {}
        """Addresses that a task failed or died on so far, in order."""
        self._described: dict[tuple[str, str], Mapping[str, str]] = {}
        """What workers described of the tasks (key, worker) whose failure is about to arrive."""
        self._erring: Any = None
        """While the scheduler handles a failed attempt: a list with the key of its task."""
        self._leaving = ""
        """Address of the worker that left last."""
        self._dependents = 0
        """Tasks that erred while it was handled, the failed one included."""

    def install(self) -> None:
        """Wraps the handler of failed attempts: no plugin hook reports an attempt that is retried."""
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

    def described(self, message: Mapping[str, Any]) -> None:
        """A worker described what the message of a failed task lacks (worker/failures/description.py)."""
        with contextlib.suppress(AttributeError):  # not in older versions of Dask
            self.scheduler._broker.truncate(TOPIC)
        if len(self._described) >= MOST_DESCRIBED:
            del self._described[next(iter(self._described))]
        key, worker, *texts = (_text(message.get(name)) for name in ("key", "worker", *DESCRIPTION))
        self._described[key, worker] = dict(zip(DESCRIPTION, texts, strict=True))

    def _attempt(self, key: Any) -> tuple[Any, str, int] | None:
        state = self.scheduler.tasks.get(key)
        return None if state is None else (state, state.state, state.retries)

    def _attempted(self, key: Any, before: tuple[Any, str, int] | None, message: Mapping[str, Any]) -> None:
        if before is None:
            return
        task, state, retries = before
        erred = state != "erred" and task.state == "erred"
        if not erred and task.retries >= retries:
            return  # the message was out of date and the scheduler ignored it
        now = time()
        worker = str(message.get("worker") or "")
        workers = self._remember(key, worker)
        self.record_spans(key, ERROR, message)
        text = _text(message.get("exception_text"))
        kind, text = split(text)
        outcome = "erred" if erred else "retried"
        trace = _text(message.get("traceback_text"))
        described = self._described.pop((str(key), worker), NOTHING)
        if described["causes"]:
            trace = f"{described['causes']}Traceback (most recent call last):\n{trace}"
        trace = _text(trace + described["members"])
        call = (described["function"], described["arguments"])
        dependents = max(0, self._dependents - 1) if erred else 0
        left = max(0, task.retries)
        self._append(
            (now, key, worker, outcome, kind, text, trace, left, json.dumps(workers), dependents, *call)
        )

    def erred(self, key: Any, now: float, message: Mapping[str, Any]) -> None:
        """A task became erred. Records it if no worker reported it: its workers died or none may run it."""
        if self._erring is not None:
            self._dependents += 1
            return
        if "exception" not in message:
            return  # erred because a dependency erred, which is recorded
        worker = str(message.get("worker") or "")
        error = _unpickled(message["exception"])
        kind = type(error).__name__ if error is not None else split(_text(message.get("exception_text")))[0]
        text = _str(error) if error is not None else _text(message.get("exception_text"))
        outcome = "killed" if kind == "KilledWorker" else "erred"
        workers = self._remember(key, worker)
        dependents = _unfinished_dependents(self.scheduler.tasks.get(key))
        self._append((now, key, worker, outcome, kind, text, "", 0, json.dumps(workers), dependents, "", ""))

    def actor_lost(self, key: Any, now: float) -> None:
        """An actor went with its worker: Dask does not make it again, and tells no plugin why it erred."""
        task = self.scheduler.tasks.get(key)
        dependents, workers = _unfinished_dependents(task), json.dumps([self._leaving])
        self._append((now, key, self._leaving, "erred", *ACTOR_LOST, "", 0, workers, dependents, "", ""))

    def worker_left(self, keys: Iterable[Any], worker: str) -> None:
        """A worker left while it was processing these tasks. Its tasks make their transitions after this."""
        self._leaving = worker
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
        """Forgets a task's workers."""
        self._workers.pop(key, None)


def _unfinished_dependents(task: Any) -> int:
    """Number of tasks that will err because `task` did, at most MAXIMUM_REMEMBERED."""
    found: set[Any] = set()
    remaining = [task] if task is not None else []
    while remaining and len(found) < MAXIMUM_REMEMBERED:
        new = [
            task
            for task in remaining.pop().dependents
            if task not in found and task.state in UNFINISHED_STATES
        ]
        found.update(new)
        remaining += new
    return len(found)


def split(text: str) -> tuple[str, str]:
    """Splits the `repr` of an exception, ValueError('no'), into (type, message); type "" if unknown.

    A type may have any name. The `repr` of some is like <HTTPError 404: 'Not Found'>; that is their message.
    """
    name, bracket, rest = text.partition("(")
    if not bracket or not NAME.fullmatch(name):
        described = DESCRIBED.match(text)
        return (described[1] if described is not None else ""), text
    message = rest.removesuffix(")")
    if (shortened := SHORTENED.match(message)) is not None:
        message = message[shortened.end() :]
        name = shortened[1] or name
    if len(message) > 1 and message[0] in "'\"" and message[-1] == message[0]:
        message = message[1:-1].replace("\\n", "\n").replace("\\'", "'").replace('\\"', '"')
    return name, message


def _text(value: Any) -> str:
    return value[:MAXIMUM_TEXT] if isinstance(value, str) else ""


def _unpickled(exception: Any) -> BaseException | None:
    """The scheduler's own exception, which it just pickled itself; None for an exception of a worker."""
    if not isinstance(exception, bytes):
        return None
    try:
        error = pickle.loads(exception)
    except Exception:
        return None
    return error if isinstance(error, BaseException) else None


def _str(error: BaseException) -> str:
    try:
        return str(error)[:MAXIMUM_TEXT]
    except Exception:  # a __str__ that raises
        return ""
