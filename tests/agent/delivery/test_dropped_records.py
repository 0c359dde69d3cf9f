"""What a sender drops: no more than it must, and each record is reported."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from observatory.agent.delivery.buffer import Buffer
from tests.agent.batches import sample, transition
from tests.agent.delivery.senders import _hurried, keys, sender_to, server
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN
from tests.agent.faulty_server import FaultyServer

__all__ = ["_hurried", "server"]


def test_while_the_server_is_down_limits_hold_and_everything_is_sent_when_it_is_back(
    server: FaultyServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    server.stop()
    sender = sender_to(server, tmp_path, memory_limit=50_000)
    append = sender.buffer.appender("transition")
    for number in range(40_000):
        append(transition(number))
        if number % 4000 == 0:
            time.sleep(0.08)
    spool = tmp_path / "spool" / sender.agent
    eventually(lambda: len(sender.buffer) == 0 and list(spool.glob("*.head")))
    assert sender.backlog.memory <= 50_000
    server.start()
    eventually(lambda: len(server.received.rows["transition"]) == 40_000)
    sender.close(10)
    assert keys(server) == list(range(40_000))
    troubles = [message for message in caplog.messages if "accept" in message]
    assert len(troubles) == 2
    assert "does not accept batches; they are kept: ConnectionRefusedError" in troubles[0]
    assert "accepts batches again" in troubles[1]
    assert not any(TOKEN in message for message in caplog.messages)


def test_every_dropped_record_is_reported(server: FaultyServer, tmp_path: Path) -> None:
    server.stop()
    sender = sender_to(server, tmp_path, memory_limit=30_000, spool_limit=60_000)
    for number in range(60):
        for _ in range(200):
            sender.buffer.appender("sample")(sample(random.getrandbits(50)))
            sender.buffer.appender("transition")(transition(random.getrandbits(100)))
        sender.buffer.appender("event")((time.time(), "restarted", "", "{}"))
        time.sleep(0.02 if number % 3 else 0.06)
    eventually(lambda: len(sender.buffer) == 0)
    on_disk = sum(path.stat().st_size for path in (tmp_path / "spool" / sender.agent).glob("0*"))
    assert 30_000 < on_disk <= 60_000
    server.start()
    sender.close(20)
    rows = server.received.rows
    dropped = dict.fromkeys(rows, 0)
    for row in rows["dropped"]:
        assert row["reason"] == "spool-full"
        assert row["first"] <= row["last"]
        dropped[row["kind"]] += row["count"]
    assert len(rows["sample"]) + dropped["sample"] == 12_000
    assert len(rows["transition"]) + dropped["transition"] == 12_000
    assert dropped["sample"] > 0
    assert len(rows["event"]) == 60
    assert dropped["event"] == 0


def test_while_the_server_is_down_idle_batches_do_not_pile_up(server: FaultyServer, tmp_path: Path) -> None:
    server.stop()
    sender = sender_to(server, tmp_path)
    eventually(lambda: len(sender.backlog) == 1)
    time.sleep(0.5)
    assert len(sender.backlog) == 1
    server.start()
    sender.close(10)


def test_the_accepted_parts_of_a_refused_batch_are_stored(
    server: FaultyServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.refuses = lambda blocks: "sample" in blocks
    sender = sender_to(server, tmp_path)
    for number in range(5):
        sender.buffer.appender("sample")(sample(number))
        sender.buffer.appender("transition")(transition(number))
        time.sleep(0.1)
    sender.close(10)
    assert keys(server) == [0, 1, 2, 3, 4]
    reported = server.received.rows["dropped"]
    assert {(row["kind"], row["reason"]) for row in reported} == {("sample", "refused")}
    assert sum(row["count"] for row in reported) == 5
    refusals = [message for message in caplog.messages if "refused records" in message]
    assert len(refusals) == 1
    assert "a record is wrong" in refusals[0]
    assert sender.backlog.memory == 0


def test_a_batch_that_is_refused_as_a_whole_does_not_block_the_next(
    server: FaultyServer, tmp_path: Path
) -> None:
    server.behaviours = ["refusing"] * 2
    sender = sender_to(server, tmp_path)
    sender.buffer.appender("transition")(transition(1))
    eventually(lambda: server.received.heads)
    sender.buffer.appender("transition")(transition(2))
    sender.close(10)
    assert 2 in keys(server)
    assert len(sender.backlog) == 0


def test_only_rows_that_cannot_be_encoded_are_dropped(server: FaultyServer, tmp_path: Path) -> None:
    class Unhashable:
        __hash__ = None  # type: ignore[assignment]

    class Unprintable:
        def __str__(self) -> str:
            raise RuntimeError("no")

    sender = sender_to(server, tmp_path)
    append = sender.buffer.appender("transition")
    bad: list[Any] = [
        ("not a time", "k", "a", "b", "", ""),
        (1.0,),
        None,
        (time.time(), Unhashable(), *"abcd"),
    ]
    for number in range(3000):
        append(transition(number))
        if number % 800 == 0:
            append(bad[number // 800])
    append((time.time(), ("x", Unprintable()), "waiting", "memory", "", ""))
    append((time.time(), "\ud800" + "k" * 10_000_000, "waiting", "memory", "", ""))
    sender.buffer.appender("dropped")(("nonsense",))
    sender.close(20)
    rows = server.received.rows
    assert len(rows["transition"]) == 3002
    dropped: Counter[tuple[str, str]] = Counter()
    for row in rows["dropped"]:
        dropped[row["kind"], row["reason"]] += row["count"]
    assert dropped == {("transition", "broken"): 4, ("dropped", "broken"): 1}
    assert sender.failures == 0


def test_records_dropped_by_workers_are_reported_too(server: FaultyServer, tmp_path: Path) -> None:
    sender = sender_to(server, tmp_path)
    for moment in (10.0, 20.0):
        sender.buffer.appender("dropped")([1.7e9 + moment, 1.7e9 + moment + 1, "log", 5, "spool-full"])
    sender.close(10)
    reported = server.received.rows["dropped"]
    assert sum(row["count"] for row in reported) == 10
    assert min(row["first"] for row in reported) == 1.7e9 + 10


def test_over_the_buffers_limit_the_least_important_rows_are_reported_as_dropped(
    server: FaultyServer, tmp_path: Path
) -> None:
    buffer = Buffer(limit=1000)
    for number in range(1500):
        buffer.appender("sample")(sample(number))
    for number in range(800):
        buffer.appender("transition")(transition(number))
    sender_to(server, tmp_path, buffer).close(10)
    (reported,) = server.received.rows["dropped"]
    assert (reported["kind"], reported["count"], reported["reason"]) == ("sample", 1300, "buffer-full")
    assert [row["value"] for row in server.received.rows["sample"]] == list(range(1300, 1500))
    assert len(keys(server)) == 800
