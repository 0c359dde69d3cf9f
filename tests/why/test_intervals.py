"""Times of intervals, as columns."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from observatory.why.intervals import distinct_times

TIMES = st.lists(st.integers(-(2**40), 2**40))


@given(TIMES, TIMES)
def test_distinct_times_are_in_order_and_each_is_there_once(some: list[int], others: list[int]) -> None:
    found = distinct_times(np.array(some, np.int64), np.array(others, np.int64))
    assert found.tolist() == sorted({*some, *others})
