"""The write-ahead log: in order, within limits, and readable after the process was killed."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from observatory.agent.worker.log import write_ahead_log as wal
from observatory.agent.worker.log.write_ahead_log import WriteAheadLog, path_for, read_messages

WORKER = "tcp://127.0.0.1:4001"


def line(number: int) -> tuple[Any, ...]:
    return (1e9 + number, "worker", WORKER, 20, "distributed.worker", f"line {number}", "", 1)


def numbers_in(messages: list[wal.Message]) -> list[str]:
    return [row[5] for message in messages for row in message.records["log"]]


def test_rows_stay_until_they_are_acknowledged() -> None:
    kept = WriteAheadLog()
    kept.append("log", line(1))
    kept.seal(WORKER)
    first = kept.first()
    assert first is not None
    assert kept.first() is first
    kept.done(first)
    assert kept.first() is None


def test_messages_are_numbered_and_have_a_limited_number_of_rows_of_a_kind() -> None:
    kept = WriteAheadLog()
    for number in range(4_500):
        kept.append("log", line(number))
    kept.seal(WORKER)
    sizes = []
    while (message := kept.first()) is not None:
        sizes.append((message.number, len(message.records["log"])))
        kept.done(message)
    assert sizes == [(1, 2_000), (2, 2_000), (3, 500)]


def test_the_file_of_a_killed_process_is_read_up_to_an_unfinished_line(tmp_path: Path) -> None:
    path = tmp_path / "wal.jsonl"
    dying = WriteAheadLog(path)
    for number in range(3):
        dying.append("log", line(number))
        dying.seal(WORKER)
    with path.open("a") as file:
        file.write('{"origin": "half a li')
    left = list(read_messages(path))
    assert numbers_in(left) == ["line 0", "line 1", "line 2"]
    assert [message.number for message in left] == [1, 2, 3]
    assert {message.origin for message in left} == {dying.origin}


def test_the_file_is_private_and_deleted_on_close(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "wal.jsonl"
    kept = WriteAheadLog(path)
    kept.append("log", line(1))
    kept.seal(WORKER)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    kept.close()
    assert not path.exists()


def test_acknowledged_messages_are_removed_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "wal.jsonl"
    kept = WriteAheadLog(path)
    kept.append("log", line(1))
    kept.seal(WORKER)
    kept.done(kept.first())  # type: ignore[arg-type]
    kept.append("log", line(2))
    kept.seal(WORKER)
    assert numbers_in(list(read_messages(path))) == ["line 2"]


def test_rows_over_the_limit_are_counted_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wal, "MAXIMUM_ROWS", 10)
    kept = WriteAheadLog()
    for number in range(25):
        kept.append("log", line(number))
    kept.seal(WORKER)
    message = kept.first()
    assert message is not None
    assert len(message.records["log"]) == 10
    assert message.records["dropped"] == [[1e9 + 10, 1e9 + 24, "log", 15, "spool-full"]]


def test_over_the_files_limit_messages_are_kept_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wal, "MAXIMUM_FILE", 1_000)
    path = tmp_path / "wal.jsonl"
    kept = WriteAheadLog(path)
    for number in range(100):
        kept.append("log", line(number))
        kept.seal(WORKER)
    assert path.stat().st_size < 2_000
    sent = 0
    while (message := kept.first()) is not None:
        kept.done(message)
        sent += 1
    assert sent == 100


def test_without_a_file_messages_are_kept_in_memory(tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("")
    kept = WriteAheadLog(tmp_path / "a file" / "wal.jsonl")
    kept.append("log", line(1))
    kept.seal(WORKER)
    assert kept.failures == 1
    assert kept.first() is not None


@pytest.mark.parametrize("text", ["", "null\n", "[]\n", json.dumps({"origin": "x"}) + "\n", "\x00\xff\n"])
def test_a_damaged_file_has_no_messages(tmp_path: Path, text: str) -> None:
    path = tmp_path / "wal.jsonl"
    path.write_bytes(text.encode("latin-1"))
    assert list(read_messages(path)) == []


def test_two_workers_of_one_host_have_two_files() -> None:
    assert len({path_for("tcp://a:1", 7), path_for("tcp://a:1", 8), path_for("tcp://a:2", 7)}) == 3
    assert "/" not in path_for("../../etc/passwd", 7).name
