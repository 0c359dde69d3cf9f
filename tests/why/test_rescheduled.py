"""Calls that raised `Reschedule`, of which there are no spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from observatory.why.records import Records
from observatory.why.rescheduled import rescheduled_computations
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.thread_times.thread_time import Accountant
from observatory.why.unfinished import unfinished_computations
from tests.why.made_records import (
    MEMORY,
    PROCESSING,
    RELEASED,
    SECOND,
    WAITING,
    Transition,
    computed,
    recorded,
    worker,
)


def sent(task: int, time: float, to: int = 1) -> Transition:
    return (task, time, WAITING, PROCESSING, to)


def refused(task: int, time: float) -> list[Transition]:
    return [(task, time, PROCESSING, RELEASED, 0), (task, time + 0.001, RELEASED, WAITING, 0)]


def with_calls(records: Records, *calls: tuple[int, float]) -> Records:
    """`calls`: the tasks, and when the scheduler heard of each call (seconds)."""
    tasks = np.array([task for task, _ in calls], np.int64)
    times = np.array([round(time * SECOND) for _, time in calls], np.int64)
    found = rescheduled_computations(records, tasks, tasks + 10, times)
    return replace(records, spans=records.spans.and_these(found))


def found(records: Records) -> list[tuple[int, int, int, float, float]]:
    """Worker, lane, task, start and stop (seconds) of each call, in the order of their ends."""
    calls = records.spans.where(records.spans.is_rescheduled)
    columns = (calls.worker, calls.lane, calls.task, calls.times.start / SECOND, calls.times.stop / SECOND)
    return sorted(zip(*(column.tolist() for column in columns), strict=True), key=lambda one: one[4])


def moves(*parts: Transition | Sequence[Transition]) -> list[Transition]:
    return [move for part in parts for move in (part if isinstance(part, list) else [part])]


def test_a_call_begins_when_its_task_was_sent_to_a_thread_without_work() -> None:
    records = recorded([worker()], transitions=moves(sent(1, 10), refused(1, 14)))
    assert found(with_calls(records, (1, 14))) == [(1, -1, 1, 10, 14)]


def test_it_begins_when_its_thread_had_ended_what_it_did_before() -> None:
    spans = [computed(2, 5, 12), computed(3, 14, 20)]
    records = recorded([worker()], spans, moves(sent(1, 6), refused(1, 14.002)))
    assert found(with_calls(records, (1, 14.002))) == [(1, 1, 1, 12, 14)], "the next task had begun by then"


def test_calls_take_turns_on_the_threads_that_there_are() -> None:
    tasks = (1, 2, 3, 4)
    ends = {1: 12.0, 2: 13.0, 3: 15.0, 4: 16.0}
    records = recorded(
        [worker(threads=2)],
        transitions=moves(
            *(sent(task, 10) for task in tasks), *map(refused, *zip(*ends.items(), strict=True))
        ),
    )
    assert [one[2:] for one in found(with_calls(records, *ends.items()))] == [
        (1, 10, 12),
        (2, 10, 13),
        (3, 12, 15),
        (4, 13, 16),
    ]


def test_a_longer_call_had_the_thread_that_was_free_before() -> None:
    spans = [computed(5, 5, 10), computed(6, 5, 12)]
    records = recorded(
        [worker(threads=2)], spans, moves(sent(1, 10), sent(2, 12), refused(2, 15), refused(1, 16))
    )
    records = replace(records, spans=replace(records.spans, lane=np.array([1, 2])))
    calls = found(with_calls(records, (1, 16), (2, 15)))
    assert [(one[1], *one[3:]) for one in calls] == [(2, 12, 15), (1, 10, 16)]


def test_a_task_can_be_sent_again_several_times() -> None:
    records = recorded(
        [worker(1), worker(2)],
        [computed(1, 21, 24)],
        moves(
            sent(1, 10),
            refused(1, 14),
            sent(1, 15, to=2),
            refused(1, 20),
            sent(1, 21),
            (1, 24, PROCESSING, MEMORY, 1),
        ),
    )
    calls = found(with_calls(records, (1, 14), (1, 20)))
    assert [(one[0], *one[3:]) for one in calls] == [(1, 10, 14), (2, 15, 20)]


def test_what_was_released_for_another_reason_was_no_such_call() -> None:
    records = recorded(
        [worker()], transitions=moves(sent(1, 10), refused(1, 14), sent(1, 20), refused(1, 23))
    )
    assert [one[3:] for one in found(with_calls(records, (1, 23)))] == [(20, 23)]


def test_there_is_none_where_all_threads_computed_something_else() -> None:
    records = recorded([worker()], [computed(2, 5, 30)], moves(sent(1, 10), refused(1, 14)))
    assert found(with_calls(records, (1, 14))) == []


def test_their_time_is_that_of_failed_attempts_and_they_are_not_unfinished() -> None:
    records = with_calls(
        recorded([worker()], [computed(1, 15, 20)], moves(sent(1, 10), refused(1, 14), sent(1, 15))), (1, 14)
    )
    seconds = Accountant(records).account().seconds
    assert seconds[ThreadKind.FAILED] == pytest.approx(4)
    assert seconds[ThreadKind.COMPUTING] == pytest.approx(5)
    assert len(unfinished_computations(records).withdrawn) == 0
