"""Amounts as people type them into the form of a rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from observatory.alerts.rules.amounts import AmountError, format_amount, parse_amount

UNITS = ("bytes", "seconds", "ratio", "percent", "bytes/s", "")


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("80 %", "ratio", 0.8),
        ("80%", "percent", 80),
        ("0.8", "ratio", 0.8),
        ("4 GiB", "bytes", 4 * 2**30),
        ("4gib", "bytes", 4 * 2**30),
        ("1.5 MB", "bytes", 1_500_000),
        ("5 MiB/s", "bytes/s", 5 * 2**20),
        ("90", "seconds", 90),
        ("1 h 30 min", "seconds", 5400),
        ("20 ms", "seconds", 0.02),
        ("-1e3", "", -1000),
    ],
)
def test_amounts_are_parsed_with_and_without_units(text: str, unit: str, value: float) -> None:
    assert parse_amount(text, unit) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "lots", "80 GiB", "1 2", "1e999", "%", "nan", "5 min"])
def test_invalid_amounts_are_rejected_with_the_allowed_units(text: str) -> None:
    with pytest.raises(AmountError, match="enter a number, optionally with %"):
        parse_amount(text, "ratio")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.8, "ratio", "80 %"),
        (1.5 * 2**30, "bytes", "1.5 GiB"),
        (100e6, "bytes/s", "100000000"),
        (300, "seconds", "5 min"),
        (0, "bytes", "0"),
        (0.123456, "ratio", "0.123456"),
    ],
)
def test_amounts_are_formatted_in_the_shortest_unit(value: float, unit: str, text: str) -> None:
    assert format_amount(value, unit) == text


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(UNITS))
def test_formatted_amounts_parse_to_the_same_number(value: float, unit: str) -> None:
    assert parse_amount(format_amount(value, unit), unit) == pytest.approx(value, rel=1e-12, abs=0)


def test_percentages_are_the_nearest_numbers() -> None:
    assert all(parse_amount(f"{number} %", "ratio") == number / 100 for number in range(1, 101))
