"""A handler of Python's logging that makes rows of kind `log`."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any

MAXIMUM_MESSAGE = 10_000
MAXIMUM_TRACEBACK = 100_000
ROLES = ("scheduler", "worker", "nanny")


class LogHandler(logging.Handler):
    """Never blocks, never raises. `clock` turns a time of this process into one of the scheduler's clock."""

    def __init__(
        self,
        append: Callable[[tuple[Any, ...]], None],
        role: str,
        address: Callable[[], str],
        clock: Callable[[float], float],
    ) -> None:
        super().__init__()
        self._append = append
        self._role = role
        self._address = address
        self._clock = clock
        self.failures = 0
        self.before: list[tuple[logging.Logger, int]] = []
        """loggers whose level was lowered, and what it was"""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._append(self._row(record))
        except Exception:
            self.failures += 1

    def handleError(self, record: logging.LogRecord) -> None:
        self.failures += 1

    def _row(self, record: logging.LogRecord) -> tuple[Any, ...]:
        return (
            self._clock(record.created),
            self._role,
            self._address(),
            record.levelno,
            storable(record.name, 500),
            storable(_message(record), MAXIMUM_MESSAGE),
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


def attach(handler: LogHandler, levels: Mapping[str, int]) -> None:
    """Listens to loggers from a level on, and to those below them that don't propagate."""
    handler.setLevel(min(levels.values()))
    for name, level in levels.items():
        logger = logging.getLogger(name)
        if name != "distributed" and logger.getEffectiveLevel() > level:
            handler.before.append((logger, logger.level))
            logger.setLevel(level)
        for found in _loggers(name):
            if handler not in found.handlers:
                found.addHandler(handler)


def detach(handler: LogHandler) -> None:
    for logger in [logging.getLogger(), *_all()]:
        if handler in logger.handlers:
            logger.removeHandler(handler)
    for logger, level in handler.before:
        logger.setLevel(level)


def _loggers(name: str) -> Iterator[logging.Logger]:
    yield logging.getLogger(name)
    for logger in _all():
        if logger.name.startswith(f"{name}.") and not logger.propagate:
            yield logger


def _all() -> list[logging.Logger]:
    known = list(logging.getLogger().manager.loggerDict.values())
    return [logger for logger in known if isinstance(logger, logging.Logger)]
