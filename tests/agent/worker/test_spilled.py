"""What a worker's agent tells of its spilled results, within its limits."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from distributed.spill import SpillBuffer, SpilledSize

from observatory.agent.delivery.buffer import Buffer
from observatory.agent.scheduler.worker_messages import WorkerMessages
from observatory.agent.worker.log.write_ahead_log import WriteAheadLog, read_messages
from observatory.agent.worker.transfers import spilled
from observatory.agent.worker.transfers.spilled import MOST_KEYS, MOST_ROWS, Spilled

Sizes = dict[Any, SpilledSize]


@pytest.fixture(autouse=True)
def looks_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "INTERVAL", 0.0)


def of(data: Any) -> Spilled:
    return Spilled(SimpleNamespace(data=data, address="tcp://w:1"))


def with_sizes(sizes: Sizes) -> Spilled:
    return of(SimpleNamespace(_slow_uncached=SimpleNamespace(weight_by_key=sizes)))


def told(found: Spilled) -> dict[Any, float]:
    rows = list(found.rows(delay=0.0))
    assert len(rows) <= MOST_ROWS
    return {key: nbytes for _, key, _, nbytes in rows}


def test_what_is_spilled_and_what_returns_is_told_once(tmp_path: Path) -> None:
    buffer = SpillBuffer(str(tmp_path), target=1000)
    found = of(buffer)
    assert found.is_known
    assert told(found) == {}
    for number in range(3):
        buffer["made", number] = bytes(600)
    on_disk = {key: size.disk for key, size in buffer._slow_uncached.weight_by_key.items()}
    assert told(found) == on_disk
    assert len(on_disk) == 2
    assert told(found) == {}
    del buffer["made", 0]
    assert told(found) == {("made", 0): 0.0}
    assert told(found) == {}


def test_the_largest_changes_are_told_first_and_the_others_later() -> None:
    sizes = {f"made-{number}": SpilledSize(number, number + 1) for number in range(MOST_ROWS * 2 + 5)}
    found = with_sizes(sizes)
    looks = [told(found) for _ in range(4)]
    assert [len(look) for look in looks] == [MOST_ROWS, MOST_ROWS, 5, 0]
    assert min(looks[0].values()) > max(looks[1].values()) > min(looks[1].values()) > max(looks[2].values())


def test_it_keeps_no_more_keys_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "MOST_ROWS", MOST_KEYS)
    monkeypatch.setattr(spilled, "MOST_KEYS", 50)
    sizes = {number: SpilledSize(1, 1) for number in range(80)}
    found = with_sizes(sizes)
    assert len(list(found.rows(0.0))) == 50
    for number in range(40):  # they are spilled once more, and thus the last ones
        sizes[number] = sizes.pop(number)
    assert list(found.rows(0.0)) == []
    sizes.clear()
    assert 0 < len(list(found.rows(0.0))) <= 50


def test_a_worker_that_never_spills_is_known_and_a_store_of_its_own_is_not() -> None:
    assert of({}).is_known
    assert not of(SimpleNamespace()).is_known
    assert told(of(SimpleNamespace())) == {}


def test_a_key_that_is_no_text_survives_the_write_ahead_log(tmp_path: Path) -> None:
    log = WriteAheadLog(tmp_path / "log")
    for key in ("made-1", ("made", 1, ("x", 2)), b"made", 7):
        log.append("spill", (1.0, key, "tcp://w:1", 9.0))
    log.seal("tcp://w:1")
    buffer = Buffer(MOST_ROWS)
    messages = WorkerMessages(SimpleNamespace(), buffer)  # type: ignore[arg-type]
    for message in read_messages(tmp_path / "log"):
        messages.take(**vars(message))
    rows = buffer.drain()
    assert [row[1] for row in rows["spill"]] == ["made-1", ("made", 1, ("x", 2)), "b'made'", 7]
