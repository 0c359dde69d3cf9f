"""Tasks that left the pool of threads, as agents record them, and as stock endpoints let it be seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from observatory.why.records import Spans
from observatory.why.seceded import inferred, with_rest
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.thread_times.thread_time import Accountant, ThreadTime
from observatory.wire.records import Action
from tests.why.made_records import SECOND, Span, computed, life, recorded, worker


def rest(task: int, start: float, stop: float) -> Span:
    return (1, task, int(Action.LONG_RUNNING), start, stop, False)


def seconds(spans: Spans) -> list[tuple[float, float, float]]:
    """Start, when it left the pool, and stop."""
    columns = (spans.times.start, spans.seceded, spans.times.stop)
    return sorted(zip(*((one / SECOND).tolist() for one in columns), strict=True))


def accounted(threads: int, spans: Sequence[Span]) -> ThreadTime:
    records = recorded([worker(threads=threads)], spans, life(1, 1, 20) + life(2, 5, 12))
    spans_of_it = inferred(with_rest(records.spans), records.workers)
    object.__setattr__(records, "spans", spans_of_it)
    return Accountant(records).account()


def test_a_computation_and_its_rest_are_one_task() -> None:
    spans = recorded([], [computed(1, 2, 3), rest(1, 3, 20), computed(2, 5, 12)]).spans
    found = with_rest(spans)
    assert seconds(found) == [(2, 3, 20), (5, 12, 12)]
    assert set(found.action.tolist()) == {Action.COMPUTE}


def test_a_rest_whose_computation_was_before_the_window_took_no_thread_in_it() -> None:
    assert seconds(with_rest(recorded([], [rest(1, 3, 20)]).spans)) == [(3, 3, 20)]


def test_a_thread_is_free_once_its_task_seceded_and_what_it_launches_computes() -> None:
    found = accounted(1, [computed(1, 2, 3), rest(1, 3, 20), computed(2, 5, 12)])
    assert found.prefixes[11][ThreadKind.COMPUTING] == pytest.approx(1)
    assert found.prefixes[12][ThreadKind.COMPUTING] == pytest.approx(7)
    assert found.seconds[ThreadKind.OTHERS] == pytest.approx((5 - 3) + (20 - 12))
    assert found.blamed.tolist() == [pytest.approx(10), pytest.approx(0)]


def test_of_stock_endpoints_what_began_first_had_seceded_where_there_are_no_threads_for_all() -> None:
    spans = [computed(1, 2, 20), computed(2, 5, 12), computed(3, 13, 19)]
    assert seconds(inferred(recorded([], spans).spans, [worker(threads=1)])) == [
        (2, 5, 20),
        (5, 12, 12),
        (13, 19, 19),
    ]


def test_tasks_that_seem_to_overlap_as_clocks_differ_have_not_seceded() -> None:
    spans = [computed(number, number, number + 1.05) for number in range(1, 9)]
    found = inferred(recorded([], spans).spans, [worker(threads=1)])
    assert (found.seceded == found.times.stop).all()


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), max_size=40),
    st.integers(1, 4),
)
def test_no_more_tasks_than_threads_are_in_the_pool_at_once(
    tasks: list[tuple[int, int]], threads: int
) -> None:
    spans = [computed(number, start, start + length) for number, (start, length) in enumerate(tasks)]
    found = inferred(recorded([], spans).spans, [worker(threads=threads)])
    in_pool = found.in_pool
    assert (in_pool.lengths >= 0).all()
    edges = np.unique(np.concatenate([in_pool.start, in_pool.stop]))
    if len(edges) > 1:
        assert in_pool.counts(edges).max() <= threads
