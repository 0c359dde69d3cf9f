"""Delivery from buffer to acknowledgement: in order, exactly once and within limits, whatever happens."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from observatory import __version__
from observatory.agent.delivery.buffer import Buffer
from observatory.agent.delivery.sender import MARGIN, Sender
from observatory.agent.delivery.spool import Spool, owner_of
from observatory.wire.batches import STEP
from observatory.wire.kind import Importance
from tests.agent.batches import AGENT, CLUSTER, configuration, head, real, sample, transition
from tests.agent.delivery.senders import _hurried, keys, sender_to, server
from tests.agent.eventually import eventually
from tests.agent.faulty_server import FaultyServer

__all__ = ["_hurried", "server"]


def test_rows_arrive_in_order_and_as_they_were(server: FaultyServer, tmp_path: Path) -> None:
    sender = sender_to(server, tmp_path)
    append = sender.buffer.appender("transition")
    rows = [transition(number) for number in range(25_000)]
    for row in rows:
        append(row)
    sender.close(20)
    assert [tuple(row.values()) for row in server.received.rows["transition"]] == rows
    assert [head.sequence for head in server.received.heads] == list(range(1, len(server.received.heads) + 1))
    assert {head.agent for head in server.received.heads} == {sender.agent}
    assert server.received.heads[0].scheduler_id == "Scheduler-1"
    assert sender.failures == 0
    assert not (tmp_path / "spool" / sender.agent).exists()


def test_only_the_last_batch_says_that_it_is(server: FaultyServer, tmp_path: Path) -> None:
    sender = sender_to(server, tmp_path)
    eventually(lambda: len(server.received.heads) > 2)
    sender.close(10)
    assert [head.is_last for head in server.received.heads[:-1]] == [False] * (len(server.received.heads) - 1)
    assert server.received.heads[-1].is_last


def test_an_agent_removed_from_a_live_cluster_does_not_report_its_end(
    server: FaultyServer, tmp_path: Path
) -> None:
    sender = sender_to(server, tmp_path)
    sender.buffer.appender("transition")(transition(1))
    sender.close(10, is_last=False)
    assert keys(server) == [1]
    assert not any(head.is_last for head in server.received.heads)


def test_every_record_before_committed_was_sent_by_then(server: FaultyServer, tmp_path: Path) -> None:
    sender = sender_to(server, tmp_path)
    append = sender.buffer.appender("transition")
    reported: list[tuple[float, int]] = []
    take = server.received.take

    def watched(body: bytes) -> int:
        sequence = take(body)
        reported.append((server.received.heads[-1].committed, len(server.received.rows["transition"])))
        return sequence

    server.received.take = watched  # type: ignore[method-assign]
    times = []
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline:
        row = transition(len(times))
        append(row)
        times.append(row[0])
        time.sleep(0.0005)
    sender.close(10)
    promises = [(committed, count) for committed, count in reported if committed]
    assert len(promises) > 5
    for committed, count in promises:
        assert sum(moment < committed for moment in times) <= count
    assert promises[0][0] <= time.time() - MARGIN


@pytest.mark.parametrize(
    "behaviour", ["failing", "forbidding", "cutting-requests", "cutting-answers", "somebody-else", "slow"]
)
def test_an_unacknowledged_batch_is_sent_again_and_stored_once(
    server: FaultyServer, tmp_path: Path, behaviour: str
) -> None:
    server.delay = 0.05
    server.behaviours = [behaviour] * 4
    sender = sender_to(server, tmp_path)
    append = sender.buffer.appender("transition")
    for number in range(300):
        append(transition(number))
        time.sleep(0.001)
    sender.close(20)
    assert keys(server) == list(range(300))
    assert server.asked >= len(server.received.heads)
    assert sender.failures == 0


def test_a_server_that_misbehaves_at_random_gets_everything_once_and_in_order(
    server: FaultyServer, tmp_path: Path
) -> None:
    chance = random.Random(7)
    bad = ["failing", "cutting-requests", "cutting-answers", "slow", "busy", "hanging-up"]
    server.delay = 0.02
    # Retry-After is believed, and would take longer than the test has
    server.behaviours = [chance.choice([*bad, "well"]) for _ in range(60)]
    server.behaviours = [one if one != "busy" else "failing" for one in server.behaviours]
    sender = sender_to(server, tmp_path, memory_limit=20_000)
    append = sender.buffer.appender("transition")
    for number in range(30_000):
        append(transition(number))
        if number % 5000 == 0:
            server.stop()
            time.sleep(0.15)
            server.start()
    sender.close(40)
    assert keys(server) == list(range(30_000))
    assert server.received.rows["dropped"] == []
    assert sender.failures == 0
    assert not list((tmp_path / "spool").glob("*/0*"))


def test_no_batch_is_larger_than_a_server_accepts(server: FaultyServer, tmp_path: Path) -> None:
    server.stop()
    sender = sender_to(server, tmp_path, memory_limit="500 MB")
    append = sender.buffer.appender("log")
    line = os.urandom(20_000).hex()
    for number in range(300):
        append((time.time(), "worker", "", 20, "user", "message", f"{number} {line}", 1))
    for number in range(30_000):
        sender.buffer.appender("transition")(transition(number))
    sizes: list[int] = []
    take = server.received.take
    server.received.take = lambda body: (sizes.append(len(body)), take(body))[1]  # type: ignore[method-assign]
    server.start()
    sender.close(30)
    assert len(server.received.rows["log"]) == 300
    assert keys(server) == list(range(30_000))
    assert 2**20 < max(sizes) <= 4.2 * 2**20


@pytest.mark.parametrize("state", ["down", "slow"])
def test_closing_takes_bounded_time_and_leaves_the_rest_in_the_spool(
    server: FaultyServer, tmp_path: Path, state: str, caplog: pytest.LogCaptureFixture
) -> None:
    if state == "down":
        server.stop()
    server.behaviour, server.delay = "slow", 60.0
    sender = sender_to(server, tmp_path)
    sender.buffer.appender("transition")(transition(1))
    time.sleep(0.2)
    began = time.monotonic()
    sender.close(0.5)
    assert time.monotonic() - began < 30
    assert list((tmp_path / "spool" / sender.agent).glob("*.head"))
    assert "python -m observatory.agent flush" in caplog.text


def test_the_spool_of_a_stopped_agent_is_sent_by_the_next_one(server: FaultyServer, tmp_path: Path) -> None:
    server.stop()
    gone = sender_to(server, tmp_path, memory_limit=5000)
    for number in range(20_000):
        gone.buffer.appender("transition")(transition(number))
    gone.close(3)  # long enough to encode all rows on a busy machine
    server.start()
    server.behaviours = ["failing", "well", "failing", "cutting-answers"]
    sender = sender_to(server, tmp_path)
    sender.buffer.appender("transition")(transition(77_777))
    eventually(lambda: len(server.received.rows["transition"]) == 20_001)
    eventually(lambda: not (tmp_path / "spool" / gone.agent).exists())
    sender.close(10)
    assert {head.agent for head in server.received.heads} == {gone.agent, sender.agent}
    assert [key for key in keys(server) if key != 77_777] == list(range(20_000))
    by_gone = [head for head in server.received.heads if head.agent == gone.agent]
    assert by_gone[-1].is_last
    assert [head.sequence for head in by_gone] == sorted(head.sequence for head in by_gone)


def test_the_spool_of_another_project_is_not_sent(server: FaultyServer, tmp_path: Path) -> None:
    other = Spool(tmp_path / "spool" / AGENT, 10**6, owner_of(server.url, "another project's token"))
    other.add(real(1, {"transition": [transition(1)]}))
    other.close()
    sender = sender_to(server, tmp_path)
    eventually(lambda: len(server.received.heads) > 5)
    sender.close(10)
    assert AGENT not in {head.agent for head in server.received.heads}
    assert (tmp_path / "spool" / AGENT).exists()


def test_the_spool_of_another_token_of_the_same_project_is_sent(server: FaultyServer, tmp_path: Path) -> None:
    owner = owner_of(server.url, "an older token")
    server.received.digests = {owner["token"]}
    other = Spool(tmp_path / "spool" / AGENT, 10**6, owner)
    other.add(real(1, {"transition": [transition(1)]}))
    other.close()
    sender = sender_to(server, tmp_path)
    eventually(lambda: AGENT in {head.agent for head in server.received.heads})
    eventually(lambda: not (tmp_path / "spool" / AGENT).exists())
    sender.close(10)
    # the server must not take it for a sign of life
    assert {head.agent for head in server.received.heads if head.status.is_over} == {AGENT}


def test_agents_of_one_machine_leave_each_others_spools_alone(server: FaultyServer, tmp_path: Path) -> None:
    server.stop()
    senders = [sender_to(server, tmp_path) for _ in range(3)]
    for number in range(300):
        senders[number % 3].buffer.appender("transition")(transition(number))
        time.sleep(0.002)
    eventually(lambda: all(not len(sender.buffer) and len(sender.backlog.spool) for sender in senders))
    server.start()
    for sender in senders:
        eventually(lambda: not len(sender.backlog))  # noqa: B023
        assert sender._adopted_spool is None
        sender.close(20)
    assert sorted(keys(server)) == list(range(300))
    assert len(server.received.heads) == len({(head.agent, head.sequence) for head in server.received.heads})


def test_rows_are_on_disk_when_they_were_asked_to_be_written(server: FaultyServer, tmp_path: Path) -> None:
    server.stop()
    sender = sender_to(server, tmp_path, flush_interval=3600)
    for number in range(1000):
        sender.buffer.appender("transition")(transition(number))
    written = threading.Event()
    sender.write_now(written.set)
    assert written.wait(120)
    found = Spool(tmp_path / "copy", 10**9, {})
    shutil.copytree(tmp_path / "spool" / sender.agent, tmp_path / "copy")
    assert found.open()
    batch = found.first()
    assert batch is not None
    assert sum(part.counts.get("transition", (0,))[0] for part in batch.parts.values()) == 1000
    sender.close(0.1)


def test_without_a_writable_spool_the_agent_still_reports(server: FaultyServer, tmp_path: Path) -> None:
    (tmp_path / "spool").touch()
    server.behaviours = ["failing"] * 3
    sender = sender_to(server, tmp_path, memory_limit=0)
    for number in range(100):
        sender.buffer.appender("transition")(transition(number))
        time.sleep(0.002)
    sender.close(10)
    reported = sum(row["count"] for row in server.received.rows["dropped"])
    assert len(keys(server)) + reported == 100
    assert sender.failures == 0


def test_an_error_in_the_agents_own_thread_is_logged_once_and_the_thread_goes_on(
    server: FaultyServer, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender = sender_to(server, tmp_path)
    threads = {sender._encoder.ident, sender._sender.ident}
    with monkeypatch.context() as patched:
        patched.setattr("observatory.agent.delivery.sender.divide", None)
        eventually(lambda: sender.failures > 2)
    sender.buffer.appender("transition")(transition(1))
    sender.close(10)
    assert keys(server) == [1]
    assert sum("agent failed" in line.message for line in caplog.records if line.thread in threads) == 1


def test_errors_in_many_threads_at_once_are_all_counted_and_logged_once(
    server: FaultyServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sender = Sender(configuration(server.url, tmp_path), CLUSTER, Buffer())
    together = threading.Barrier(8)

    def fail() -> None:
        together.wait(60)
        raise ValueError

    with ThreadPoolExecutor(8) as threads:
        for _ in range(8 * 50):
            threads.submit(sender._guarded, fail)
    assert sender.failures == 8 * 50
    assert sum("agent failed" in message for message in caplog.messages) == 1


def test_a_forked_child_sends_and_writes_nothing(server: FaultyServer, tmp_path: Path) -> None:
    server.stop()
    sender = sender_to(server, tmp_path)
    sender.buffer.appender("transition")(transition(1))
    eventually(lambda: len(list((tmp_path / "spool" / sender.agent).glob("*.head"))) >= 1)
    eventually(lambda: len(sender.buffer) == 0)
    before = sorted((tmp_path / "spool" / sender.agent).iterdir())
    child = os.fork()
    if child == 0:
        sender.buffer.appender("transition")(transition(2))
        sender.close(0.2)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert sorted((tmp_path / "spool" / sender.agent).iterdir()) == before
    server.start()
    sender.close(10)
    assert keys(server) == [1]


def test_a_busy_event_loop_runs_again_between_small_parts_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured in CPU time of the encoding thread, which does not depend on the machine's load."""
    rows = [transition(number // 5, 1.7e9) for number in range(10_000)]
    turns: list[float] = []
    monkeypatch.setattr("observatory.wire.batches.time.sleep", lambda _: turns.append(time.thread_time()))
    longest = []
    for _ in range(5):
        turns[:] = [time.thread_time()]
        real(1, {"transition": rows})
        whole = time.thread_time() - turns[0]
        assert len(turns) > 10_000 / STEP
        longest.append(max(after - before for before, after in itertools.pairwise(turns)) / whole)
    # without turns in between, the thread would keep the interpreter for the whole
    assert min(longest) < 0.4


def test_a_batch_has_one_part_for_each_importance() -> None:
    rows = {
        "sample": [sample(1)],
        "transition": [transition(1)],
        "span": [],
        "event": [(1.7e9, "k", "", "{}")],
    }
    batch = real(3, {kind: found for kind, found in rows.items() if found})
    assert set(batch.parts) == set(Importance)
    assert batch.head == head(3)


def test_a_batch_says_how_many_wait_when_it_is_sent(server: FaultyServer, tmp_path: Path) -> None:
    server.stop()
    sender = sender_to(server, tmp_path)
    append = sender.buffer.appender("transition")
    for number in range(3):
        append(transition(number))
        eventually(lambda: len(sender.buffer) == 0)
    eventually(lambda: sender.backlog.status()[1] >= 1)
    server.start()
    sender.close(20)
    first, *_ = server.received.heads
    assert first.status.version == __version__
    assert first.status.spooled is not None
    assert first.status.spooled >= 1
    assert first.status.spooled_bytes
    last = server.received.heads[-1].status
    assert (last.waiting, last.spooled, last.spooled_bytes) == (1, 0, 0)
