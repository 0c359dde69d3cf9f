"""Which tasks stayed with a busy worker, by records that are written by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from observatory.why.piles import Piles, piles
from observatory.why.records import Records, Worker
from observatory.why.thread_times.assignments import assignments, stays
from observatory.why.unfinished import unfinished_computations
from tests.why.made_records import PROCESSING, SECOND, WAITING, computed, life, recorded, worker

TASKS = 20


def on_the_first(*workers: Worker, hangs_on: int = 0) -> Records:
    """Tasks of a second each, all of which the first worker has from the beginning on."""
    spans = [computed(task, task, task + 1) for task in range(TASKS)]
    transitions = [row for task in range(TASKS) for row in life(task, 0, task + 1)]
    if hangs_on:
        transitions.append((99, 0, WAITING, PROCESSING, hangs_on))
    records = recorded(workers, spans, transitions)
    left = unfinished_computations(records)
    return replace(records, unfinished=left.spans, withdrawn=left.withdrawn)


def found(records: Records) -> Piles:
    return piles(records, assignments(records, stays(records)))


def test_what_waits_on_a_worker_while_another_is_idle_is_a_pile() -> None:
    some = found(on_the_first(worker(1), worker(2, threads=3)))
    [pile] = some.piles
    assert pile.worker == 1
    assert (pile.times.start.tolist(), pile.times.stop.tolist()) == ([0], [(TASKS - 1) * SECOND])
    assert pile.waiting.values.max() == TASKS - 1
    # three threads at most, and the last two seconds have two tasks and one
    assert some.threads.seconds == pytest.approx(3 * (TASKS - 1 - 2) + 2 + 1)


def test_a_worker_whose_thread_has_a_task_that_hangs_is_not_idle() -> None:
    assert found(on_the_first(worker(1), worker(2), hangs_on=2)).piles == []
    assert found(on_the_first(worker(1), worker(2, threads=2), hangs_on=2)).piles != []


def test_a_worker_that_joins_and_gets_no_task_is_not_known_to_take_any() -> None:
    assert found(on_the_first(worker(1), worker(2, start=5))).piles == []


def test_a_wait_is_in_a_pile_where_it_overlaps_it() -> None:
    records = on_the_first(worker(1), worker(2))
    sent = assignments(records, stays(records))
    some = piles(records, sent)
    assert some.holds(sent.worker, sent.waits).sum() == TASKS - 1, "the first one did not wait"
    assert not some.holds(sent.worker + 1, sent.waits).any()
