"""Each log record is assigned to one of several listeners in a process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from observatory.agent.logs import Listener, LogHandler, current_listener, storable

FIRST, SECOND = "tcp://127.0.0.1:4001", "tcp://127.0.0.1:4002"
Listen = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def handler() -> LogHandler:
    return LogHandler()


@pytest.fixture
def listen(handler: LogHandler) -> Iterator[Listen]:
    """Adds a listener. Returns the list of its rows."""
    listeners = []

    def add(
        role: str, address: str = "", pid: int = 0, levels: dict[str, int] | None = None
    ) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        listener = Listener(
            rows.append, role, levels or {"distributed": logging.INFO}, lambda: address, lambda: pid
        )
        listeners.append(listener)
        handler.listen(listener)
        return rows

    yield add
    for listener in listeners:
        handler.leave(listener)


@pytest.fixture
def crowd(listen: Listen) -> dict[str, list[tuple[Any, ...]]]:
    """A LocalCluster's process: a scheduler and two nannies."""
    return {
        "scheduler": listen("scheduler"),
        "first": listen("nanny", FIRST, 100),
        "second": listen("nanny", SECOND, 200),
    }


@pytest.mark.parametrize(
    ("logger", "message", "whose"),
    [
        ("distributed.scheduler", "Register worker addr: %s", "scheduler"),
        ("distributed.core", "Connection to %s has been closed", "second"),
        ("distributed.core", "Event loop was unresponsive in Scheduler", "scheduler"),
        ("distributed.worker.memory", "Worker %s (pid=200) exceeded 95%% memory budget", "second"),
        ("distributed.nanny", "Worker process 200 was killed by signal 15", "second"),
        ("distributed.nanny", "Worker process 100 exited with status 1", "first"),
    ],
)
def test_a_log_record_is_recorded_once_by_the_process_that_it_is_about(
    crowd: dict[str, list[tuple[Any, ...]]], logger: str, message: str, whose: str
) -> None:
    arguments = (SECOND,) if "%s" in message else ()
    logging.getLogger(logger).warning(message, *arguments)
    assert {name: len(rows) for name, rows in crowd.items() if rows} == {whose: 1}


def test_a_record_logged_while_a_nanny_runs_belongs_to_that_nanny(
    listen: Listen, handler: LogHandler
) -> None:
    other = listen("nanny", FIRST)
    rows: list[tuple[Any, ...]] = []
    busy = Listener(rows.append, "nanny", {"distributed": 20}, lambda: SECOND)
    handler.listen(busy)
    token = current_listener.set(busy)
    logging.getLogger("distributed.nanny").warning("Restarting worker")
    current_listener.reset(token)
    handler.leave(busy)
    assert (len(rows), len(other)) == (1, 0)


def test_a_log_record_that_several_loggers_handle_is_recorded_once(listen: Listen) -> None:
    rows = listen("worker", levels={"mine": 10, "mine.part": 10})
    logging.getLogger("mine.part.of.it").info("hello")
    assert len(rows) == 1


def test_levels_apply_to_child_loggers_and_the_nearest_one_decides(listen: Listen) -> None:
    rows = listen("worker", levels={"mine": 40, "mine.part": 10})
    for name, level in [
        ("mine", 30),
        ("mine.other", 30),
        ("mine.other", 40),
        ("mine.part.x", 10),
        ("my", 50),
    ]:
        logging.getLogger(name).log(level, "said")
    assert [(row[4], row[3]) for row in rows] == [("mine.other", 40), ("mine.part.x", 10)]


def test_a_lowered_level_is_restored_when_the_last_listener_left(handler: LogHandler) -> None:
    logger = logging.getLogger("verbose.library")
    logger.setLevel(logging.ERROR)
    listeners = [Listener([].append, "worker", {"verbose.library": 10}) for _ in range(2)]
    for listener in listeners:
        handler.listen(listener)
    handler.leave(listeners[0])
    assert logger.level == 10
    handler.leave(listeners[1])
    assert (logger.level, handler in logger.handlers) == (logging.ERROR, False)


def test_a_cluster_that_silences_its_logs_silences_no_recording(listen: Listen, handler: LogHandler) -> None:
    rows = listen("worker")
    handler.setLevel(logging.CRITICAL)
    logging.getLogger("distributed.worker").warning("said all the same")
    assert len(rows) == 1


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("message", "arguments", "shown"),
    [
        ("%d of %d", (1,), "could not be formatted"),
        ("%s", (Unprintable(),), "could not be formatted"),
        (Unprintable(), (), "?"),
        ("x" * 1_000_000, (), "…"),
        ("a lone \ud800 surrogate", (), "a lone ? surrogate"),
        ("<img src=x onerror=alert(1)>", (), "<img src=x onerror=alert(1)>"),
    ],
    ids=["arguments missing", "argument", "message", "long", "surrogate", "html"],
)
def test_a_message_that_cannot_be_formatted_does_no_harm(
    listen: Listen,
    handler: LogHandler,
    monkeypatch: pytest.MonkeyPatch,
    message: Any,
    arguments: tuple[Any, ...],
    shown: str,
) -> None:
    monkeypatch.setattr(logging.getLogger("distributed"), "propagate", False)  # pytest's handler raises
    rows = listen("worker")
    logging.getLogger("distributed.worker").warning(message, *arguments)
    [row] = rows
    assert shown in row[5]
    assert len(row[5]) <= 10_000
    row[5].encode()
    assert handler.failures == 0


def test_a_traceback_is_recorded(listen: Listen) -> None:
    rows = listen("worker")
    try:
        raise ValueError("a reason")
    except ValueError:
        logging.getLogger("distributed.worker").exception("it failed")
    assert "ValueError: a reason" in rows[0][6]


def test_errors_while_recording_are_counted_and_not_raised(handler: LogHandler) -> None:
    def full(_: Any) -> None:
        raise MemoryError

    listener = Listener(full, "worker", {"distributed": 20})
    handler.listen(listener)
    logging.getLogger("distributed.worker").warning("anything")
    handler.leave(listener)
    assert handler.failures == 1


@pytest.mark.parametrize("limit", [1, 5])
def test_storable_texts_are_no_longer_than_their_limit(limit: int) -> None:
    assert len(storable("x" * 10, limit)) == limit
