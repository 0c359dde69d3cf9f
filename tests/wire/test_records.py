from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from observatory.wire.records import MAXIMUM_KEY_LENGTH, Action, clean_key, clean_text, is_time


@pytest.mark.parametrize(
    "name", ["compute", "transfer", "disk-read", "disk-write", "deserialize", "serialize"]
)
def test_an_action_keeps_the_name_that_dask_gives_it(name: str) -> None:
    assert Action.of(name).label == name


def test_an_action_that_dask_never_uses_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'explode'"):
        Action.of("explode")


@given(st.text())
def test_a_cleaned_key_is_one_printable_storable_line(key: str) -> None:
    cleaned = clean_key(key)
    assert cleaned.isprintable() or "�" in cleaned
    assert "\0" not in cleaned
    assert len(cleaned) <= MAXIMUM_KEY_LENGTH
    cleaned.encode()


def test_a_key_of_markup_is_kept_as_it_is() -> None:
    assert clean_key("<img src=x onerror=alert(1)>") == "<img src=x onerror=alert(1)>"


def test_a_long_text_is_cut_visibly() -> None:
    assert clean_text("x" * 20, limit=10) == "x" * 9 + "…"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 0.0, 5e9])
def test_what_is_no_plausible_time_is_told_apart(value: float) -> None:
    assert not is_time(value)
