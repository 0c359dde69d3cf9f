"""Rounded numbers have so many digits, and so little to be compressed."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from observatory.replay.tiles.rounding import rounded

VALUES = np.random.default_rng(3).lognormal(10, 3, 10_000)


@pytest.mark.parametrize("bits", [8, 10, 13])
def test_numbers_are_off_by_at_most_half_of_their_last_digit_and_on_average_not_at_all(bits: int) -> None:
    off = rounded(VALUES, bits) / VALUES - 1
    assert np.abs(off).max() <= 2.0 ** -(bits + 1)
    assert abs(off.mean()) < 2.0 ** -(bits + 4)


def test_small_whole_numbers_and_what_is_rounded_already_stay_as_they_are() -> None:
    whole = np.arange(-512, 513)
    assert (rounded(whole, 8) == whole).all()
    once = rounded(VALUES, 8)
    assert (rounded(once, 8) == once).all()


def test_unknown_and_infinite_values_stay_so() -> None:
    values = np.array([np.nan, np.inf, -np.inf, 0.0])
    assert np.array_equal(rounded(values, 8), values, equal_nan=True)


def test_the_largest_number_does_not_become_infinite_or_negative() -> None:
    assert rounded(np.array([1e300, -1e300]), 8) == pytest.approx([1e300, -1e300], rel=2e-3)


def test_they_take_a_fraction_of_the_room() -> None:
    assert 2.5 * len(gzip.compress(rounded(VALUES, 8).tobytes())) < len(gzip.compress(VALUES.tobytes()))
