"""Prefixes, groups and colors are those of the installed Dask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import distributed.utils
from dask.utils import key_split
from hypothesis import given
from hypothesis import strategies as st

from observatory.store.dask_names import color_of, group_of, prefix_of

PARTS = [
    *("", "-", "x", "sum", "abcdefab", "abcdwxyz", "zbcdefgh", "0123abcd", "0af" * 10 + "ab"),
    *("a" * 32, "(", "('", "', 1)", ",", "_", '"', "<", ">", "<m.Task object at 0x1>", ".", " ", "\n", "é"),
]
texts = st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=6).map("".join)
keys = st.recursive(
    texts
    | st.integers()
    | st.floats(allow_nan=False)
    | st.none()
    | st.binary(max_size=3)
    | texts.map(str.encode),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)


def answer(name: Callable[[Any], Any], key: Any) -> str | None:
    """The name; None where the key is refused."""
    try:
        return str(name(key))
    except (IndexError, ValueError):
        return None


@given(keys)
def test_prefix_and_group_of_any_key_are_dasks(key: Any) -> None:
    assert answer(prefix_of, key) == answer(key_split, key)
    assert answer(group_of, key) == answer(distributed.utils.key_split_group, key)


@given(st.text())
def test_colors_are_dasks(prefix: str) -> None:
    assert color_of(prefix) == distributed.utils.color_of(prefix)
