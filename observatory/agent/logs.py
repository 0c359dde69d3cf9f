"""Turns records of Python's logging into rows of kind `log`, each record exactly once.

In a LocalCluster the scheduler and all nannies share one process and one logging tree. A record is assigned
to one of them by its logger, by the worker address or process id in its message, or by the nanny that was
running when it was logged.
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
    """A scheduler, worker or nanny that records logs."""

    append: Callable[[tuple[Any, ...]], None]
    """Takes a row of kind `log`."""
    role: str
    levels: Mapping[str, int]
    """Lowest level by logger name; applies to child loggers too."""
    address: Callable[[], str] = lambda: ""
    """Returns the worker's address; "" for the scheduler."""
    pid: Callable[[], int] = lambda: 0
    """Returns the process id of a nanny's worker; 0 for others."""
    clock: Callable[[float], float] = lambda time: time
    """Converts a time of this process to the scheduler's clock, both in seconds."""

    def accepts(self, record: logging.LogRecord) -> bool:
        name = record.name
        while name and name not in self.levels:
            name = name.rpartition(".")[0]
        level = self.levels.get(name or "root")
        return level is not None and record.levelno >= level


current_listener: ContextVar[Listener | None] = ContextVar("current_listener", default=None)
"""The listener that owns records logged in this context."""


class LogHandler(logging.Handler):
    """The process's one handler. Never blocks, never raises."""

    def __init__(self) -> None:
        super().__init__()
        self.failures = 0
        self._listeners: list[Listener] = []
        self._original_levels: dict[logging.Logger, int] = {}
        """Levels of the loggers whose level was lowered."""

    def listen(self, listener: Listener) -> None:
        """Attaches to the listener's loggers and to their child loggers that do not propagate."""
        self._listeners = [*self._listeners, listener]
        for name, level in listener.levels.items():
            logger = logging.getLogger(name)
            if name != "distributed" and logger.getEffectiveLevel() > level:
                self._original_levels.setdefault(logger, logger.level)
                logger.setLevel(level)
            for found in _loggers(name):
                if self not in found.handlers:
                    found.addHandler(self)

    def leave(self, listener: Listener) -> None:
        """Removes a listener; the last one restores the loggers."""
        self._listeners = [other for other in self._listeners if other is not listener]
        if self._listeners:
            return
        for logger in [logging.getLogger(), *_all()]:
            if self in logger.handlers:
                logger.removeHandler(self)
        for logger, level in self._original_levels.items():
            logger.setLevel(level)
        self._original_levels = {}

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if "observatory_took" not in vars(record):  # each logger on the way up calls the handler
                record.observatory_took = True
                self._take(record)
        except Exception:
            self.failures += 1

    def setLevel(self, level: int | str) -> None:
        """Does nothing: `silence_logs` of a cluster in this process would set the level of every handler."""

    def handleError(self, record: logging.LogRecord) -> None:
        self.failures += 1

    def _take(self, record: logging.LogRecord) -> None:
        listening = [listener for listener in self._listeners if listener.accepts(record)]
        if listening:
            message = storable(_message(record), MAXIMUM_MESSAGE)
            listener = listening[0] if len(listening) == 1 else _choose(listening, record.name, message)
            listener.append(_row(listener, record, message))


handler = LogHandler()


def _choose(listening: list[Listener], name: str, message: str) -> Listener:
    """The one of several listeners that a record belongs to."""
    if (current := current_listener.get()) in listening and current is not None:
        return current
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
    except Exception:  # wrong arguments, or a __str__ that raises
        return f"{record.msg!r:.500} (could not be formatted)" if isinstance(record.msg, str) else "?"


def _traceback(record: logging.LogRecord) -> str:
    if record.exc_text:
        return record.exc_text
    if not record.exc_info or record.exc_info[0] is None:
        return ""
    try:
        return "".join(traceback.format_exception(*record.exc_info))
    except Exception:  # an exception that cannot be formatted
        return f"{record.exc_info[0].__name__} (could not be formatted)"


def storable(text: str, limit: int) -> str:
    """`text` cut to `limit` characters, without lone surrogates, which UTF-8 cannot encode."""
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
