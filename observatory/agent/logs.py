"""What Python's logging says, as rows of kind `log`: each record once, whoever listens in its process.

A LocalCluster has the scheduler and all nannies in one process: whom a record is about is told by its logger,
the worker that it names, or the nanny that was at work.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from observatory.wire.records import ROLES

MAXIMUM_MESSAGE = 10_000
MAXIMUM_TRACEBACK = 100_000


@dataclass(eq=False)
class Listener:
    append: Callable[[tuple[Any, ...]], None]
    """takes a row"""
    role: str
    levels: Mapping[str, int]
    """by logger; it holds for those below it, too"""
    address: Callable[[], str] = lambda: ""
    """of the worker"""
    pid: Callable[[], int] = lambda: 0
    """of a nanny's worker"""
    clock: Callable[[float], float] = lambda moment: moment
    """turns a time of this process into one of the scheduler's clock"""

    def hears(self, record: logging.LogRecord) -> bool:
        name = record.name
        while name and name not in self.levels:
            name = name.rpartition(".")[0]
        level = self.levels.get(name or "root")
        return level is not None and record.levelno >= level


speaking: ContextVar[Listener | None] = ContextVar("speaking", default=None)
"""whose own doing what is logged now is"""


class LogHandler(logging.Handler):
    """One in a process. Never blocks, never raises."""

    def __init__(self) -> None:
        super().__init__()
        self.failures = 0
        self._listeners: list[Listener] = []
        self._before: dict[logging.Logger, int] = {}
        """the level of those that had to be lowered"""

    def listen(self, listener: Listener) -> None:
        """To loggers from a level on, and to those below them that don't propagate."""
        self._listeners = [*self._listeners, listener]
        for name, level in listener.levels.items():
            logger = logging.getLogger(name)
            if name != "distributed" and logger.getEffectiveLevel() > level:
                self._before.setdefault(logger, logger.level)
                logger.setLevel(level)
            for found in _loggers(name):
                if self not in found.handlers:
                    found.addHandler(self)

    def leave(self, listener: Listener) -> None:
        self._listeners = [other for other in self._listeners if other is not listener]
        if self._listeners:
            return
        for logger in [logging.getLogger(), *_all()]:
            if self in logger.handlers:
                logger.removeHandler(self)
        for logger, level in self._before.items():
            logger.setLevel(level)
        self._before = {}

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if "observatory_took" not in vars(record):  # it comes once by each logger on its way up
                record.observatory_took = True
                self._take(record)
        except Exception:
            self.failures += 1

    def setLevel(self, level: int | str) -> None:
        """It has none: `silence_logs` of a cluster in the same process raises that of every handler."""

    def handleError(self, record: logging.LogRecord) -> None:
        self.failures += 1

    def _take(self, record: logging.LogRecord) -> None:
        listening = [listener for listener in self._listeners if listener.hears(record)]
        if listening:
            message = storable(_message(record), MAXIMUM_MESSAGE)
            listener = listening[0] if len(listening) == 1 else _concerned(listening, record.name, message)
            listener.append(_row(listener, record, message))


handler = LogHandler()


def _concerned(listening: list[Listener], name: str, message: str) -> Listener:
    """Whom of several a record is about."""
    if (speaker := speaking.get()) in listening and speaker is not None:
        return speaker
    role = next((role for role in ROLES if name.startswith(f"distributed.{role}")), "")
    candidates = [listener for listener in listening if listener.role == role] or listening
    words = set(re.findall(r"[^\s'\"(),;]+", message)) | set(re.findall(r"\d+", message))
    for listener in candidates:
        if listener.address() in words or str(listener.pid() or "no pid") in words:
            return listener
    return min(candidates, key=lambda listener: ROLES.index(listener.role))


def _row(listener: Listener, record: logging.LogRecord, message: str) -> tuple[Any, ...]:
    return (
        listener.clock(record.created),
        listener.role,
        listener.address(),
        record.levelno,
        storable(record.name, 500),
        message,
        storable(_traceback(record), MAXIMUM_TRACEBACK),
        record.process or 0,
    )


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # arguments that don't fit, or somebody's own __str__
        return f"{record.msg!r:.500} (its arguments can't be shown)" if isinstance(record.msg, str) else "?"


def _traceback(record: logging.LogRecord) -> str:
    if record.exc_text:
        return record.exc_text
    if not record.exc_info or record.exc_info[0] is None:
        return ""
    try:
        return "".join(traceback.format_exception(*record.exc_info))
    except Exception:  # an exception that can't be shown
        return f"{record.exc_info[0].__name__} (it can't be shown)"


def storable(text: str, limit: int) -> str:
    """No longer than `limit`, and with nothing in it that UTF-8 can't say."""
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode(errors="replace").decode()
    return text


def _loggers(name: str) -> Iterator[logging.Logger]:
    yield logging.getLogger(name)
    for logger in _all():
        if logger.name.startswith(f"{name}.") and not logger.propagate:
            yield logger


def _all() -> list[logging.Logger]:
    known = list(logging.getLogger().manager.loggerDict.values())
    return [logger for logger in known if isinstance(logger, logging.Logger)]
