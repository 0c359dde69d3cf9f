"""Tasks that ran and did not finish in the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from observatory.why.cancelled import Cancelled
from observatory.why.critical_path.path import CriticalPath
from observatory.why.earlier import Earlier
from observatory.why.findings.observed.samples import Samples
from observatory.why.intervals import Intervals
from observatory.why.records import Graph, Records
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.thread_times.thread_time import Accountant
from observatory.why.unfinished import MOST_OF_WORKER, Unfinished, unfinished_computations
from tests.why.made_records import (
    ERRED,
    LENGTH,
    MEMORY,
    PROCESSING,
    QUEUED,
    RELEASED,
    SECOND,
    WAITING,
    Span,
    Transition,
    computed,
    recorded,
    worker,
)


def found(records: Records) -> list[tuple[int, int, float, float]]:
    """Worker, task, start and stop (seconds) of each."""
    return listed(unfinished_computations(records))


def listed(of_them: Unfinished) -> list[tuple[int, int, float, float]]:
    left = of_them.spans
    times = zip(left.times.start / SECOND, left.times.stop / SECOND, strict=True)
    return [
        (task, at, start, stop)
        for task, at, (start, stop) in zip(left.worker.tolist(), left.task.tolist(), times, strict=True)
    ]


def sent(task: int, time: float, to: int = 1) -> tuple[int, float, int, int, int]:
    return (task, time, WAITING, PROCESSING, to)


def withdrawn(task: int, time: float, state: int = RELEASED) -> tuple[int, float, int, int, int]:
    return (task, time, PROCESSING, state, 0)


def test_a_task_that_hangs_lasts_until_the_end_of_the_window() -> None:
    assert found(recorded([worker()], transitions=[sent(1, 10)])) == [(1, 1, 10, LENGTH)]


@pytest.mark.parametrize("state", [RELEASED, WAITING, QUEUED])
def test_one_that_was_cancelled_lasts_until_then(state: int) -> None:
    records = recorded([worker()], transitions=[sent(1, 10), withdrawn(1, 30, state)])
    assert found(records) == [(1, 1, 10, 30)]


@pytest.mark.parametrize(("later", "is_cancelled"), [(0.0, False), (2.0, True)])
def test_one_that_the_scheduler_sends_again_at_once_was_not_cancelled(
    later: float, is_cancelled: bool
) -> None:
    """As for shuffles; a client that cancels a task and submits it again takes longer."""
    again = [(1, 30 + later, RELEASED, WAITING, 0), sent(1, 40)]
    records = recorded(
        [worker()], [computed(1, 41, 50)], [sent(1, 10), withdrawn(1, 30), *again, withdrawn(1, 50, MEMORY)]
    )
    assert found(records) == ([(1, 1, 10, 30)] if is_cancelled else [])


@pytest.mark.parametrize("state", [MEMORY, ERRED])
def test_one_whose_span_was_dropped_has_finished(state: int) -> None:
    assert found(recorded([worker()], transitions=[sent(1, 10), withdrawn(1, 30, state)])) == []


def test_one_that_computed_has_finished_also_after_the_windows_end() -> None:
    records = recorded([worker()], [computed(1, 11, LENGTH + 5)], [sent(1, 10)])
    assert found(records) == []


def test_one_that_was_stolen_did_not_run_where_it_had_been() -> None:
    stolen = (1, 20, PROCESSING, PROCESSING, 2)
    records = recorded([worker(1), worker(2)], [computed(1, 21, 30, worker=2)], [sent(1, 10), stolen])
    assert found(records) == []


def test_one_whose_worker_died_is_lost_with_it() -> None:
    records = recorded(
        [worker(1, stop=30, ended=True, died=True)], transitions=[sent(1, 10), withdrawn(1, 30.1)]
    )
    assert found(records) == []


def test_what_ran_as_the_cluster_was_closed_did_not_finish() -> None:
    records = recorded([worker(1, stop=LENGTH - 1, ended=True)], transitions=[sent(1, 10)])
    assert found(records) == [(1, 1, 10, LENGTH)]


def test_it_began_when_its_worker_had_a_thread_for_it() -> None:
    spans = [computed(1, 0, 12), computed(2, 0, 40)]
    before = [sent(1, 0), sent(2, 0), sent(3, 5)]
    assert found(recorded([worker(threads=2)], spans, before)) == [(1, 3, 11.9, LENGTH)]


def test_that_two_tasks_of_a_thread_seem_to_overlap_a_little_does_not_delay_it() -> None:
    spans = [computed(1, 20, 30.05), computed(2, 30, 40)]
    assert found(recorded([worker(threads=2)], spans, [sent(3, 5)])) == [(1, 3, 5, LENGTH)]


def test_no_more_run_than_there_are_threads() -> None:
    hung = [sent(task, 10 + task) for task in range(5)]
    records = recorded([worker(threads=2)], transitions=[*hung, *(withdrawn(task, 50) for task in range(5))])
    assert [task for _, task, _, _ in found(records)] == [0, 1]


def test_a_paused_worker_begins_none_and_goes_on_with_those_that_it_has() -> None:
    moves = [sent(1, 10), sent(2, 40)]
    for stop, second in ((50, [(1, 2, 50, LENGTH)]), (LENGTH, [])):
        records = recorded([worker(threads=2)], transitions=moves, pauses=[(1, 20, stop)])
        assert found(records) == [(1, 1, 10, LENGTH), *second]


def test_how_many_are_looked_for_is_bounded() -> None:
    count = MOST_OF_WORKER + 10
    moves = [
        move for task in range(count) for move in (sent(task, task * 0.4), withdrawn(task, task * 0.4 + 0.3))
    ]
    assert len(found(recorded([worker()], transitions=moves))) == MOST_OF_WORKER


def hanging() -> Records:
    """One of two threads has a task that hangs, the other one nothing more to do."""
    spans = [computed(1, 0, 10), computed(2, 10, 20)]
    moves = [sent(1, 0), (1, 10, PROCESSING, MEMORY, 1), sent(2, 10), (2, 20, PROCESSING, MEMORY, 1)]
    made = recorded([worker(threads=2)], spans, [*moves, sent(3, 10)])
    left = unfinished_computations(made)
    return replace(made, unfinished=left.spans, withdrawn=left.withdrawn)


def test_its_thread_is_neither_idle_nor_computing_and_others_wait_for_it() -> None:
    time = Accountant(hanging()).account()
    assert time.seconds[ThreadKind.UNFINISHED] == pytest.approx(90)
    assert time.seconds[ThreadKind.COMPUTING] == pytest.approx(20)
    # the other thread has nothing to do in the first ten seconds, and waits in the last eighty
    assert time.seconds[ThreadKind.OTHERS] == pytest.approx(90)
    assert time.seconds[ThreadKind.SCHEDULER] == 0
    # the eighty are those of the one that hangs alone
    assert time.blamed.tolist() == pytest.approx([10, 0])


def test_the_critical_path_ends_with_it() -> None:
    none = np.zeros(0, np.int64)
    path = CriticalPath(hanging(), Graph(none, none, none, none, none))
    assert [(piece.kind, piece.stop / SECOND) for piece in path.pieces()] == [
        (ThreadKind.COMPUTING, 10),
        (ThreadKind.UNFINISHED, LENGTH),
    ]


def earlier(*moves: Transition, of_others: Sequence[int] = ()) -> Earlier:
    """Of tasks that were sent before the window."""
    return Earlier(recorded([worker()], transitions=moves).transitions, np.array(of_others, np.int64))


def cancelled(*samples: tuple[float, int], worker: int = 1) -> Cancelled:
    """How many cancelled tasks a worker had at each time, as heartbeats told each second."""
    stop = np.array([round(time * SECOND) for time, _ in samples], np.int64)
    values = np.array([count for _, count in samples], np.float64)
    times = Intervals(stop - SECOND, stop)
    return Cancelled(Samples(np.full(len(stop), worker, np.int64), times, values))


def test_a_task_that_was_sent_before_the_window_and_hangs_lasts_all_of_it() -> None:
    records = recorded([worker()])
    left = unfinished_computations(records, earlier(sent(1, -20)))
    assert listed(left) == [(1, 1, 0, LENGTH)]


def test_one_that_was_sent_before_the_window_and_withdrawn_in_it_lasts_until_then() -> None:
    records = recorded([worker()], transitions=[withdrawn(1, 30)])
    assert listed(unfinished_computations(records, earlier(sent(1, -20)))) == [(1, 1, 0, 30)]


@pytest.mark.parametrize(
    "spans", [[computed(1, -19, LENGTH + 5)], [computed(1, -19, 4)], [computed(1, 10, LENGTH + 5)]]
)
def test_one_that_was_sent_before_the_window_and_computed_has_finished(spans: list[Span]) -> None:
    assert listed(unfinished_computations(recorded([worker()], spans), earlier(sent(1, -20)))) == []


def test_a_task_that_was_stolen_before_the_window_hangs_with_the_thief() -> None:
    stolen = (1, -10, PROCESSING, PROCESSING, 2)
    left = unfinished_computations(recorded([worker(1), worker(2)]), earlier(sent(1, -20), stolen))
    assert listed(left) == [(2, 1, 0, LENGTH)]


def test_others_transitions_in_the_window_mean_the_same_beside_one_that_was_sent_before() -> None:
    """Their first state is known since the window's beginning alone."""
    records = recorded([worker(threads=2)], transitions=[(2, 30, PROCESSING, RELEASED, 1)])
    left = unfinished_computations(records, earlier(sent(1, -20)))
    assert sorted(listed(left)) == [(1, 1, 0, LENGTH), (1, 2, 0, 30)]


def test_a_cancelled_task_keeps_its_thread_until_its_function_returns() -> None:
    records = recorded([worker()], transitions=[sent(1, 10), withdrawn(1, 30)])
    left = unfinished_computations(
        records, cancelled=cancelled(*((time, 1) for time in range(31, 51)), (51, 0))
    )
    assert listed(left) == [(1, 1, 10, 50)]
    assert (left.withdrawn / SECOND).tolist() == [30]


def test_no_more_tasks_keep_threads_than_are_cancelled_on_their_worker() -> None:
    moves = [move for task in (1, 2) for move in (sent(task, 10), withdrawn(task, 30))]
    samples = cancelled(*((time, 2) for time in range(31, 36)), *((time, 1) for time in range(36, 41)))
    left = unfinished_computations(recorded([worker(threads=2)], transitions=moves), cancelled=samples)
    assert sorted(stop for *_, stop in listed(left)) == [35, 40]


def test_one_that_was_cancelled_before_the_window_keeps_its_thread_in_it() -> None:
    before = earlier(sent(1, -20), withdrawn(1, -5))
    samples = cancelled(*((time, 1) for time in range(1, 8)))
    left = unfinished_computations(recorded([worker()]), before, samples)
    assert listed(left) == [(1, 1, 0, 7)]
    assert listed(unfinished_computations(recorded([worker()]), before)) == []


def test_while_a_cancelled_task_keeps_its_thread_later_ones_do_not_wait_for_the_workers_event_loop() -> None:
    moves = [sent(1, 10), withdrawn(1, 30), sent(2, 30), (2, 60, PROCESSING, MEMORY, 1)]
    made = recorded([worker()], [computed(2, 50, 60)], moves)
    left = unfinished_computations(made, cancelled=cancelled(*((time, 1) for time in range(31, 51))))
    records = replace(made, unfinished=left.spans, withdrawn=left.withdrawn)
    time = Accountant(records).account()
    assert time.seconds[ThreadKind.UNFINISHED] == pytest.approx(40)
    assert time.seconds[ThreadKind.READY] == 0
    none = np.zeros(0, np.int64)
    path = CriticalPath(records, Graph(none, none, none, none, none)).pieces()
    kinds = {piece.kind: 0.0 for piece in path}
    for piece in path:
        kinds[piece.kind] += (piece.stop - piece.start) / SECOND
    assert kinds[ThreadKind.UNFINISHED] == pytest.approx(40)
