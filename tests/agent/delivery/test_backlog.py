"""The backlog keeps its limits in memory and on disk, and every dropped record is reported."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observatory.agent.delivery.backlog import Backlog
from observatory.agent.delivery.batch import HEAD_SIZE, AgentBatch
from observatory.agent.delivery.spool import Spool, owner_of
from observatory.wire.kind import Importance
from tests.agent.batches import KINDS_OF, sized

SAMPLES, TASKS, FAILURES = sorted(Importance)
OWNER = owner_of("http://observatory", "token")
MEMORY, DISK = 20_000, 40_000
LITTLE_MEMORY, LITTLE_DISK = 8_000, 12_000
HEADS = 2 * HEAD_SIZE
"""Bytes of heads beyond the limit: one batch without parts, and one that is being sent."""


def backlog_in(folder: Path, memory: int = MEMORY, disk: int = DISK) -> Backlog:
    return Backlog(Spool(folder / "agent", disk, OWNER), memory)


def without_disk(folder: Path, memory: int = MEMORY) -> Backlog:
    """A backlog that cannot write its spool: a file has the name of the folder."""
    (folder / "file").touch()
    return Backlog(Spool(folder / "file" / "agent", DISK, OWNER), memory)


def taken(batch: AgentBatch) -> Counter[str]:
    """Number of records by kind, including those reported as dropped."""
    found: Counter[str] = Counter()
    for part in batch.parts.values():
        for kind, (count, _, _) in part.counts.items():
            found[kind] += count
    for _, _, kind, count, _ in batch.dropped:
        found[kind] += count
    return found


def emptied(backlog: Backlog) -> list[AgentBatch]:
    found = []
    while (batch := backlog.first()) is not None:
        found.append(batch)
        backlog.done(batch)
    return found


def test_batches_are_taken_in_order_from_disk_and_memory(tmp_path: Path) -> None:
    backlog = backlog_in(tmp_path)
    for number in range(1, 8):
        backlog.add(sized(number, {TASKS: 5000}))
    assert len(backlog.spool) == 4
    assert len(backlog) == 7
    assert [batch.sequence for batch in emptied(backlog)] == list(range(1, 8))
    assert len(backlog) == backlog.memory == backlog.spool.size == 0


def test_a_batch_stays_until_it_is_acknowledged(tmp_path: Path) -> None:
    backlog = backlog_in(tmp_path)
    backlog.add(sized(1, {TASKS: 5000}))
    assert backlog.first() == backlog.first() == sized(1, {TASKS: 5000})


def test_a_batch_that_moved_to_disk_while_it_was_sent_is_removed_when_acknowledged(tmp_path: Path) -> None:
    backlog = backlog_in(tmp_path)
    backlog.add(sized(1, {TASKS: 5000}))
    sent = backlog.first()
    assert sent is not None
    for number in range(2, 7):
        backlog.add(sized(number, {TASKS: 5000}))
    assert 1 in backlog.spool
    backlog.done(sent)
    assert [batch.sequence for batch in emptied(backlog)] == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("has_disk", [True, False])
def test_the_batch_that_is_being_sent_is_neither_cut_nor_reported_as_dropped(
    tmp_path: Path, has_disk: bool
) -> None:
    backlog = backlog_in(tmp_path, 8000, 8000) if has_disk else without_disk(tmp_path, 8000)
    backlog.add(sized(1, {SAMPLES: 1000}))
    sent = backlog.first()
    assert sent is not None
    for number in range(2, 20):
        backlog.add(sized(number, {SAMPLES: 5000}))
    again = backlog.first()
    assert again is not None
    assert (again.sequence, again.parts, list(again.dropped)) == (1, sent.parts, [])
    backlog.done(sent)
    found = emptied(backlog)
    assert 1 not in [batch.sequence for batch in found]
    assert sum(map(taken, found), Counter()) == {"sample": 180}


def test_without_a_disk_the_least_important_records_are_dropped_from_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    backlog = without_disk(tmp_path)
    for number in range(1, 21):
        backlog.add(sized(number, {SAMPLES: 5000, TASKS: 1000, FAILURES: 500}))
    found = emptied(backlog)
    assert sum(FAILURES in batch.parts for batch in found) > sum(TASKS in batch.parts for batch in found)
    assert not any(SAMPLES in batch.parts for batch in found)
    assert len(caplog.messages) == 1
    assert sum(map(taken, found), Counter()) == {"sample": 200, "transition": 200, "error": 200}


def test_a_disk_that_comes_back_is_used_again(tmp_path: Path) -> None:
    backlog = without_disk(tmp_path)
    for number in range(1, 11):
        backlog.add(sized(number, {TASKS: 5000}))
    assert len(backlog.spool) == 0
    (tmp_path / "file").unlink()
    backlog.add(sized(11, {TASKS: 5000}))
    assert len(backlog.spool) > 0


def test_at_the_end_all_batches_are_on_disk(tmp_path: Path) -> None:
    backlog = backlog_in(tmp_path)
    for number in (1, 2):
        backlog.add(sized(number, {TASKS: 5000}))
    assert backlog.spill_all() == 0
    assert len(backlog.spool) == 2
    assert backlog.memory == 0


SIZES = st.dictionaries(st.sampled_from(sorted(Importance)), st.integers(1, 12_000), max_size=3)
STEPS = st.lists(st.one_of(SIZES, st.sampled_from(["take", "done"])), max_size=60)


@settings(max_examples=150, deadline=None)
@given(STEPS, st.booleans())
def test_the_limits_hold_and_every_record_is_delivered_or_reported_as_dropped(
    steps: list[object], has_disk: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        backlog = (
            backlog_in(Path(folder), LITTLE_MEMORY, LITTLE_DISK)
            if has_disk
            else without_disk(Path(folder), LITTLE_MEMORY)
        )
        reported: Counter[str] = Counter()
        added: Counter[str] = Counter()
        sequences: list[int] = []
        sending: AgentBatch | None = None
        number = 0
        for step in steps:
            if step == "take":
                sending = backlog.first()
            elif step == "done":
                if sending is not None:
                    reported += taken(sending)
                    sequences.append(sending.sequence)
                    backlog.done(sending)
                sending = None
            else:
                number += 1
                assert isinstance(step, dict)
                batch = sized(number, step)
                added += Counter({KINDS_OF[importance]: 10 for importance in step})
                backlog.add(batch)
                # the one that is being sent is never cut
                spared = HEADS + (sum(sending.sizes.values()) if sending is not None else 0)
                on_disk = sum(path.stat().st_size for path in Path(folder).glob("agent/0*"))
                assert backlog.memory <= LITTLE_MEMORY + spared
                assert on_disk == backlog.spool.size
                assert on_disk <= LITTLE_DISK + spared
                assert backlog.memory == sum(
                    HEAD_SIZE + sum(held.sizes.values()) for held in backlog._batches.values()
                )
        for batch in emptied(backlog):
            reported += taken(batch)
            sequences.append(batch.sequence)
        assert reported == added
        assert sequences == sorted(set(sequences))
        backlog.spool.close()
