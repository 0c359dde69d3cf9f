from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import distributed.scheduler
import psycopg
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from observatory.agent.task_names import split_key as split_key_of_agent
from observatory.replay.task_history import task_history
from observatory.store import texts
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.batches.reading_blocks import records_of_block
from observatory.store.ingest.batches.record_columns import Keys
from observatory.store.ingest.writer import Writer
from observatory.store.keys import (
    CACHED_KEYS,
    _split_short_key,
    clean_keys,
    decode_key,
    encode_keys,
    groups_of_text,
    key_of_json,
    name_key,
    read_literal,
    split_key,
)
from observatory.store.texts import MAXIMUM_NAME_LENGTH, are_printable, clean_json, clean_name
from observatory.wire.batches import BatchError, encode_rows
from observatory.wire.blocks import decode
from observatory.wire.kinds import KINDS
from observatory.wire.records import MAXIMUM_KEY_LENGTH, clean_key

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


def test_the_cache_of_keys_does_not_grow_without_end() -> None:
    for number in range(2 * CACHED_KEYS + 10):
        split_key(f"inc-{number:032x}")
    assert _split_short_key.cache_info().currsize <= CACHED_KEYS


def test_long_keys_are_not_cached() -> None:
    before = _split_short_key.cache_info().currsize
    for number in range(10):
        name = f"{'long' * 100}{number}"
        assert split_key(f"('{name}-{number:032x}', 1)") == (name, f"{name}-{number:032x}")
    assert _split_short_key.cache_info().currsize == before


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


texts_of_keys = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    [
        "x-1",
        "sum-agg",
        "('x-1', 0)",
        "1",
        "1.5",
        "b'x'",
        "<m.Task object at 0x1>",
        "a" * 32,
        "",
        "Other",
        "nan",
    ]
)
dask_keys = st.recursive(
    texts_of_keys | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.binary(max_size=10),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple),
    max_leaves=6,
)
"""of all types that Dask allows, also in tuples in tuples"""


def own_names(key: Any) -> tuple[str, str]:
    """How Dask's scheduler names the prefix and the group of a task (Scheduler.new_task)."""
    try:
        return str(distributed.scheduler.key_split(key)), str(distributed.scheduler.key_split_group(key))
    except (IndexError, ValueError):  # of "" and of bytes that are no UTF-8: the scheduler takes no such key
        return "Other", "Other"


def received(keys: list[Any], older_agent: bool = False) -> Keys:
    """What the server reads of transitions of these tasks, in their order."""
    rows = [(1.7e9, key, "waiting", "memory", "", "") for key in keys]
    sent = encode_rows(KINDS["transition"], rows, *([] if older_agent else [split_key_of_agent]))
    records, refused = records_of_block(next(decode(sent)))
    assert refused == 0
    return records.keys()


@given(st.lists(dask_keys, max_size=8))
def test_keys_of_any_type_keep_their_text_and_dasks_own_names_on_the_way_to_the_server(
    keys: list[Any],
) -> None:
    read = received(keys)
    assert read.per_row() == [clean_key(str(key)) for key in keys]
    names = [read.names.values[read.names.codes[code]] for code in read.codes]
    assert names == [
        (clean_key(prefix) or "Other", clean_key(group)) for prefix, group in map(own_names, keys)
    ]


@given(dask_keys)
@example("<m.Task\nobject at 0x1>")
@example(float("inf"))
@example((("a,b", 1), 2))
def test_a_key_of_any_type_is_found_by_its_text(key: Any) -> None:
    text = clean_key(str(key))
    assume(not (text.startswith("<") and "\ufffd" in text) or key == "<m.Task\nobject at 0x1>")
    [(_, group)] = received([key]).names.values
    assert clean_name(group) in groups_of_text(text)


@given(dask_keys)
def test_a_key_is_the_same_whether_an_agent_the_stock_stream_or_a_file_tells_it(key: Any) -> None:
    read = received([key])
    of_agent = (*read.values, *read.names.values[0])
    assert of_agent == name_key(key)
    if isinstance(key, str | int | float | tuple) and b"" not in _leaves(key):
        assert key_of_json(json.loads(json.dumps(key))) == key
    assert read_literal(repr(key)) == key or len(repr(key)) > MAXIMUM_KEY_LENGTH


def _leaves(key: Any) -> set[Any]:
    """b"" for each leaf that is bytes, which JSON has not."""
    if isinstance(key, tuple):
        return set().union(*map(_leaves, key))
    return {b""} if isinstance(key, bytes) else set()


def test_keys_of_an_older_agent_are_named_by_their_texts() -> None:
    read = received([1003, ("x-1", 0)], older_agent=True)
    assert read.per_row() == ["1003", "('x-1', 0)"]
    assert list(read.names.values) == [("1003", "1003"), ("x", "x-1")]


def test_a_column_of_texts_alone_is_sent_without_names() -> None:
    rows = [(1.7e9, key, "waiting", "memory", "", "") for key in ("x-1", "1")]
    assert next(decode(encode_rows(KINDS["transition"], rows, split_key_of_agent))).meta == {}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "no lists prefixes, groups, of"),
        ({"prefixes": ["x"], "groups": ["x"], "of": ["0"]}, "no lists prefixes, groups, of"),
        ({"prefixes": ["x"], "groups": ["x"], "of": [True]}, "no lists prefixes, groups, of"),
        ({"prefixes": ["x"], "groups": [], "of": [0]}, "not one for each key"),
        ({"prefixes": ["x"], "groups": ["x"], "of": [0, 0]}, "not one for each key"),
        ({"prefixes": ["x"], "groups": ["x"], "of": [1]}, "refers to a name that it hasn't"),
        ({"prefixes": ["x"], "groups": ["x"], "of": [-2]}, "refers to a name that it hasn't"),
        ({"prefixes": ["x"], "groups": ["x"], "of": [2**70]}, "refers to a name that it hasn't"),
    ],
)
def test_names_that_do_not_fit_their_keys_are_refused_with_the_reason(names: Any, message: str) -> None:
    block = next(decode(encode_rows(KINDS["transition"], [(1.7e9, 1, "waiting", "memory", "", "")])))
    with pytest.raises(BatchError, match=message):
        records_of_block(replace(block, meta={"names": {"key": names}}))


@pytest.mark.parametrize("text", ["-" * 1_999 + "1", "(" * 2_000, "{" * 300, "not " * 400, "\\d" * 900])
def test_a_hostile_text_is_no_literal_and_costs_nothing(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_literal(text) is None
    assert groups_of_text(text)


def stored_transition(connection: psycopg.Connection, cluster: int, keys: list[Any]) -> None:
    rows = [(1.7e9 + number, key, "processing", "memory", "", "") for number, key in enumerate(keys)]
    records, _ = records_of_block(next(decode(encode_rows(KINDS["transition"], rows, split_key_of_agent))))
    with Writer() as writer:
        writer.write(Batch(cluster, {"transition": records}))


def test_a_key_whose_group_was_beyond_a_limit_is_found(
    connection: psycopg.Connection, cluster: int, make: Any, now: float
) -> None:
    with Writer() as writer:
        writer.write(Batch.of(cluster, [], [make.span(now, "inc-1", prefix="Other", group="Other")]))
    found = task_history(connection, cluster, "inc-1")
    assert (len(found.spans), found.prefixes) == (1, ["Other"])
    assert not task_history(connection, cluster, "inc-2")


def test_an_integer_and_a_text_that_is_written_like_it_are_kept_apart_and_both_are_found(
    connection: psycopg.Connection, cluster: int
) -> None:
    stored_transition(connection, cluster, [1, "1", (7, 1), 2])
    names = connection.execute(
        """SELECT prefix.name, task_group.name, key_rest FROM transition
           JOIN task_group ON task_group.id = group_id JOIN prefix ON prefix.id = prefix_id
           WHERE transition.cluster_id = %s ORDER BY time""",
        [cluster],
    ).fetchall()
    assert names == [
        ("Other", "Other", "1"),
        ("1", "1", "\x01"),
        ("Other", "7", "(\x01, 1)"),
        ("Other", "Other", "2"),
    ]
    both = task_history(connection, cluster, "1")
    assert (len(both.transitions), both.prefixes) == (2, ["1", "Other"])
    for key in ("2", "(7, 1)"):
        found = task_history(connection, cluster, key)
        assert (len(found.transitions), found.prefixes) == (1, ["Other"])
    assert not task_history(connection, cluster, "3")
