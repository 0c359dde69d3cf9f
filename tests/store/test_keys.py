from __future__ import annotations

import json
from unittest.mock import patch

from dask.utils import key_split
from hypothesis import given
from hypothesis import strategies as st

from observatory.store import texts
from observatory.store.keys import CACHED_KEYS, clean_keys, decode_key, encode_keys, split_key
from observatory.store.texts import MAXIMUM_NAME_LENGTH, are_printable, clean_json, clean_name
from observatory.wire.records import clean_key

hostile = st.text(st.characters(codec=None, categories=None), max_size=40) | st.sampled_from(
    [
        "",
        "\x00",
        "\x01",
        "\ud800",
        "<img src=x onerror=alert(1)>",
        "inc",
        "('inc-0a1b', 0)",
        "\x01\x01",
        "a" * 3_000,
    ]
)


@given(hostile, hostile)
def test_a_key_is_decoded_to_what_was_encoded(key: str, group: str) -> None:
    key, group = clean_key(key), clean_name(group)
    assert decode_key(*encode_keys([key], [group]), group) == key


@given(hostile)
def test_a_key_that_contains_its_group_is_decoded(text: str) -> None:
    group = clean_name(text)
    key = clean_key(f"('{group}', 3, '{group}')")
    assert decode_key(*encode_keys([key], [group]), group) == key


@given(st.lists(hostile))
def test_cleaning_many_keys_equals_cleaning_each(keys: list[str]) -> None:
    assert list(clean_keys(keys)) == [clean_key(key) for key in keys]


def test_neither_our_cache_of_keys_nor_dasks_grows_without_end() -> None:
    for number in range(2 * CACHED_KEYS + 10):
        split_key(f"inc-{number:032x}")
    assert split_key.cache_info().currsize <= CACHED_KEYS
    assert key_split.cache_info().currsize <= CACHED_KEYS + 1


def test_the_group_is_not_stored_again_in_a_key() -> None:
    assert encode_keys(["('sum-0123456789abcdef', 1, 2)"], ["sum-0123456789abcdef"]) == ["('\x01', 1, 2)"]


@given(hostile)
def test_any_name_becomes_storable(text: str) -> None:
    name = clean_name(text)
    assert "\x00" not in name
    assert len(name.encode()) <= 4 * MAXIMUM_NAME_LENGTH


values = st.recursive(
    hostile | st.integers() | st.floats() | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(hostile, inner, max_size=3),
    max_leaves=20,
)


@given(st.dictionaries(hostile, values, max_size=5))
def test_any_detail_becomes_strict_json(detail: dict[str, object]) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    text = clean_json(detail)
    assert isinstance(json.loads(text, parse_constant=refuse), dict)
    assert "\\u0000" not in text
    text.encode()


@given(st.dictionaries(hostile, values, max_size=5), st.integers(0, 10))
def test_json_that_has_nothing_to_clean_is_the_same_without_cleaning(
    detail: dict[str, object], depth: int
) -> None:
    for _ in range(depth):
        detail = {"nested": detail}
    quick = clean_json(detail)
    with patch.object(texts, "_if_clean", lambda value: None):
        assert clean_json(detail) == quick


def test_a_detail_that_is_too_long_is_cut_and_marked() -> None:
    detail = {"message": "hello", "more": ["x" * 9_000] * 100}
    cut = json.loads(clean_json(detail))
    assert cut["message"] == "hello"
    assert cut["cut"] > 100_000


@given(st.lists(hostile, max_size=3) | st.lists(st.text(st.characters(max_codepoint=0x80)), max_size=3))
def test_texts_are_printable_if_python_says_so(found: list[str]) -> None:
    assert are_printable(found) == all(map(str.isprintable, found))
