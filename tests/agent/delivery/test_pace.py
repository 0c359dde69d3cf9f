"""When buffered rows become a batch."""

from __future__ import annotations

import time
from pathlib import Path

from observatory.agent.delivery.buffer import Buffer
from observatory.agent.delivery.pace import AT_LONG_REST, AT_REST, LONG_REST, SLOWEST, Pace
from observatory.agent.delivery.sender import MARGIN
from observatory.alerts.evaluation.watermark import GRACE
from observatory.store.late_records import LATENESS
from tests.agent.batches import sample, transition
from tests.agent.delivery.senders import _hurried, keys, sender_to, server
from tests.agent.eventually import eventually
from tests.agent.faulty_server import FaultyServer

__all__ = ["_hurried", "server"]


def test_samples_alone_wait_for_some_intervals_and_all_else_for_one() -> None:
    pace = Pace(0.5)
    assert pace.between(has_news=True) == 0.5
    assert pace.between(has_news=False) == 0.5 * AT_REST


def test_samples_wait_longer_when_nothing_has_happened_for_long_until_something_does() -> None:
    pace = Pace(0.5)
    pace.moved_at -= LONG_REST
    assert pace.between(has_news=False) == 0.5 * AT_LONG_REST
    assert pace.between(has_news=True) == 0.5
    assert pace.between(has_news=False) == 0.5 * AT_REST


def test_a_page_that_is_open_ends_a_long_rest() -> None:
    pace = Pace(0.5)
    pace.moved_at -= LONG_REST
    pace.is_watched = True
    assert pace.between(has_news=False) == 0.5
    pace.is_watched = False
    assert pace.between(has_news=False) == 0.5 * AT_REST


def test_batches_of_a_long_rest_come_before_rules_follow_the_clock() -> None:
    pace = Pace(1.0)
    pace.moved_at -= LONG_REST
    pace.took = 60.0
    assert pace.between(has_news=False) + MARGIN + LATENESS + 2 < GRACE


def test_nothing_waits_longer_than_an_interval_while_a_page_is_open() -> None:
    pace = Pace(0.5)
    pace.is_watched = True
    assert pace.between(has_news=False) == 0.5


def test_batches_grow_with_the_time_that_the_server_takes_for_one_up_to_a_limit() -> None:
    pace = Pace(1.0)
    found = []
    for pace.took in (0.2, 1.0, 3.0, 60.0):
        found.append((pace.between(has_news=True), pace.between(has_news=False)))
    assert found == [(1.0, SLOWEST), (1.0, SLOWEST), (3.0, SLOWEST), (SLOWEST, SLOWEST)]


def test_a_longer_interval_than_those_is_kept() -> None:
    pace = Pace(60.0)
    pace.took = 3.0
    assert pace.between(has_news=True) == pace.between(has_news=False) == 60.0


def test_news_are_what_is_no_sample() -> None:
    buffer = Buffer()
    buffer.appender("sample")(sample(1))
    assert not buffer.has_news
    buffer.appender("transition")(transition(1))
    assert buffer.has_news
    buffer.drain()
    assert not buffer.has_news


class Noting(Pace):
    """Notes how long batches took."""

    noted: list[float]

    def __setattr__(self, name: str, value: float) -> None:
        super().__setattr__(name, value)
        if name == "took":
            self.__dict__.setdefault("noted", []).append(value)


def test_a_batch_took_the_time_from_its_first_attempt_on(server: FaultyServer, tmp_path: Path) -> None:
    server.behaviour = "busy"
    buffer = Buffer()
    buffer.appender("transition")(transition(1))
    sender = sender_to(server, tmp_path, buffer)
    sender.pace = pace = Noting(sender.pace.interval)
    try:
        eventually(lambda: server.asked)
        busy = time.monotonic()
        time.sleep(0.3)
        server.behaviour = "well"
        is_well = time.monotonic()
        eventually(lambda: len(pace.noted) > 1)
        assert pace.noted[1] >= is_well - busy
        assert keys(server) == [1]
    finally:
        sender.close(5)
