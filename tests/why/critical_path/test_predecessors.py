"""Computations of many owners, at times of today."""

from __future__ import annotations

import numpy as np

from observatory.why.critical_path.predecessors import NONE, LastEnded, previous_of

TODAY = 1_790_000_000_000_000
"""microseconds since 1970"""
OWNERS = 20_000


def test_of_twenty_thousand_threads_each_has_its_own_computation_before() -> None:
    owner = np.repeat(np.arange(OWNERS), 2)
    start = TODAY + np.tile([0, 1_000], OWNERS) + owner
    found = previous_of(owner, start)
    assert np.array_equal(found[::2], np.full(OWNERS, NONE))
    assert np.array_equal(found[1::2], np.arange(0, 2 * OWNERS, 2))


def test_of_twenty_thousand_tasks_each_has_the_attempt_that_ended_last() -> None:
    owner = np.repeat(np.arange(OWNERS), 2)
    stop = TODAY + np.tile([500, 1_500], OWNERS)
    last = LastEnded(owner, stop)
    before = np.full(OWNERS, TODAY + 1_000)
    assert np.array_equal(last(np.arange(OWNERS), before), np.arange(0, 2 * OWNERS, 2))
    assert list(last.each(OWNERS - 1, TODAY + 2_000)) == [2 * OWNERS - 1, 2 * OWNERS - 2]
    assert list(last.each(OWNERS - 1, TODAY)) == []


def test_without_computations_there_is_none_before() -> None:
    none = np.zeros(0, np.int64)
    assert len(previous_of(none, none)) == 0
    assert list(LastEnded(none, none).each(1, TODAY)) == []
