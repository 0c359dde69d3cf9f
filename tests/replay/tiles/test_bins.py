"""The bins of each level add up to the rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from observatory.replay.tiles.bins import bin_samples, bin_spans, merge_busy_bins, rates, sort_order
from observatory.replay.tiles.levels import MAXIMUM_LEVEL, MINIMUM_LEVEL, TileId
from observatory.store.times import MAXIMUM_TIME

START = 1_800_000_000_000_000
ALL_TIME = (0, MAXIMUM_TIME)
levels = st.integers(MINIMUM_LEVEL, MAXIMUM_LEVEL)
span_rows = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(0, 2),
        st.integers(0, 5),
        st.integers(0, 40_000_000),
        st.integers(0, 3_000_000),
    ),
    min_size=1,
    max_size=60,
)
sample_rows = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 40_000_000), st.floats(-1e6, 1e6)), min_size=1, max_size=80
)


def _tile_ids(level: int, start: int, stop: int) -> list[TileId]:
    width = 512 << level
    return [TileId(level, index) for index in range(start // width, stop // width + 1)]


# the largest don't fit together in one number
@given(st.lists(st.tuples(*3 * [st.sampled_from([-1, 0, 1, 511, 2**31 - 1])]), min_size=1, max_size=60))
def test_rows_are_ordered_by_their_first_column_then_the_next_and_equal_ones_stay(
    rows: list[tuple[int, ...]],
) -> None:
    order = sort_order(*np.array(rows, np.int64).T)
    assert order.tolist() == sorted(range(len(rows)), key=lambda row: rows[row])


@given(span_rows, st.integers(14, 24))
def test_the_busy_seconds_and_counts_of_a_level_are_those_of_the_spans(
    rows: list[tuple[int, ...]], level: int
) -> None:
    lane, prefix, action, offset, length = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    start, stop = START + offset, START + offset + length
    seconds: dict[tuple[int, int, int], float] = {}
    counts: dict[tuple[int, int, int], int] = {}
    for tile_id in _tile_ids(level, int(start.min()), int(stop.max())):
        inside = (start < tile_id.stop) & (stop >= tile_id.start)
        spans = (column[inside] for column in (lane, prefix, action, start, stop))
        busy = bin_spans(*spans, tile_id, ALL_TIME)
        assert np.all((busy.bin >= 0) & (busy.bin < 512))
        assert np.all(busy.seconds >= 0)
        for row in range(len(busy.lane)):
            what = (int(busy.lane[row]), int(busy.prefix[row]), int(busy.action[row]))
            seconds[what] = seconds.get(what, 0.0) + busy.seconds[row]
            counts[what] = counts.get(what, 0) + int(busy.count[row])
    for what in seconds:
        its = (lane == what[0]) & (prefix == what[1]) & (action == what[2])
        assert seconds[what] == pytest.approx((stop - start)[its].sum() / 1e6)
        assert counts[what] == its.sum()
    assert sum(counts.values()) == len(rows)


@given(st.integers(0, 2**32), st.integers(14, 22))
def test_many_long_spans_are_binned_as_each_of_them_is(seed: int, level: int) -> None:
    generator = np.random.default_rng(seed)
    tile_id = TileId.at(level, START)
    start = tile_id.start + generator.integers(-tile_id.width // 2, 3 * tile_id.width // 2, 80)
    stop = start + generator.integers(0, tile_id.width, 80) * generator.integers(0, 2, 80)
    keys = [generator.integers(0, 2, 80) for _ in range(3)]
    window = (tile_id.start + tile_id.width // 8, tile_id.stop - tile_id.width // 8)
    together = bin_spans(*keys, start, stop, tile_id, window)
    places = [np.array([place]) for place in range(80)]
    each = [bin_spans(*(key[at] for key in keys), start[at], stop[at], tile_id, window) for at in places]
    expected = merge_busy_bins(each)
    for name in ("lane", "bin", "prefix", "action", "count"):
        assert getattr(together, name).tolist() == getattr(expected, name).tolist()
    assert np.allclose(together.seconds, expected.seconds)


def test_a_span_over_several_bins_fills_each_by_its_overlap() -> None:
    tile_id = TileId(20, START // (512 << 20))
    width = tile_id.bin_width
    start = np.array([tile_id.start + width // 2])
    busy = bin_spans(*(np.zeros(1, np.int64),) * 3, start, start + 2 * width, tile_id, ALL_TIME)
    assert busy.bin.tolist() == [0, 1, 2]
    assert busy.seconds == pytest.approx(np.array([0.5, 1.0, 0.5]) * width / 1e6)
    assert busy.count.tolist() == [1, 0, 0]


@given(sample_rows, st.integers(14, 24))
def test_the_bins_of_a_series_have_its_extremes_mean_last_and_count(
    rows: list[tuple[int, int, float]], level: int
) -> None:
    rows = sorted({row[:2]: row for row in rows}.values())
    series, offset, value = (np.array(column) for column in zip(*rows, strict=True))
    time = START + offset.astype(np.int64)
    found = [
        bin_samples(series, time, value, tile_id)
        for tile_id in _tile_ids(level, int(time.min()), int(time.max()))
    ]
    for number in set(series.tolist()):
        its = value[series == number]
        bins = [(b, np.flatnonzero(b.series == number)) for b in found]
        assert sum(int(b.count[at].sum()) for b, at in bins) == len(its)
        assert sum(float((b.mean[at] * b.count[at]).sum()) for b, at in bins) == pytest.approx(
            its.sum(), abs=1e-3
        )
        assert min(b.min[at].min() for b, at in bins if len(at)) == its.min()
        assert max(b.max[at].max() for b, at in bins if len(at)) == its.max()
        assert [b.last[at][-1] for b, at in bins if len(at)][-1] == its[-1]


def _rates(times: list[float], values: list[float]) -> list[float]:
    microseconds = np.array([int(START + time * 1e6) for time in times])
    one = np.ones(len(times), np.int64)
    return list(rates(one, microseconds, np.array(values), one.astype(np.float64) * 5))


def test_a_counter_becomes_its_rate_per_second() -> None:
    assert _rates([0, 5, 10], [10, 20, 20])[1:] == [2.0, 0.0]


def test_the_first_sample_of_a_counter_has_no_rate() -> None:
    assert np.isnan(_rates([0, 5], [10, 20])[0])


def test_a_counter_that_was_reset_has_grown_from_zero() -> None:
    assert _rates([0, 5], [100, 10])[1] == 2.0


def test_there_is_no_rate_across_a_gap() -> None:
    assert np.isnan(_rates([0, 16], [10, 20])[1])


@pytest.mark.parametrize(("level", "index"), [(9, 0), (37, 0), (20, -1), (10, 2**60)])
def test_an_invalid_tile_id_is_refused_with_the_reason(level: int, index: int) -> None:
    with pytest.raises(ValueError, match=r"level|index"):
        TileId(level, index)
