"""Batches of records, as the agent writes them and the server reads them."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observatory.store.ingest.batches.reading_blocks import records_of_block
from observatory.wire.batches import STEP, BatchError, decode_batch, encode_head, encode_rows
from observatory.wire.blocks import decode, encode
from observatory.wire.head import AgentStatus, Head
from observatory.wire.kind import Kind, Type
from observatory.wire.kinds import KINDS

HEAD = Head("ab" * 16, 7, "Scheduler-1", "a cluster", "tcp://10.0.0.1:8786", 1.7e9, 1.7e9, 0.0)
TRANSITION = KINDS["transition"]
VALUES: dict[Type, Any] = {
    Type.TIME: 1.7e9,
    Type.REAL: 0.5,
    Type.COUNT: 3,
    Type.INTEGER: -1,
    Type.CODE: 1,
    Type.KEY: "a-key",
    Type.NAME: "a name",
    Type.TEXT: "a text",
    Type.LONG: "a long text",
    Type.JSON: '{"a": 1}',
}


def row_of(kind: Kind, **given: Any) -> tuple[Any, ...]:
    return tuple(given.get(field.name, VALUES[field.type]) for field in kind.fields)


def read(kind: Kind, rows: list[tuple[Any, ...]]) -> tuple[list[tuple[Any, ...]], int]:
    (block,) = decode(encode_rows(kind, rows))
    assert block.rows == len(rows)
    records, refused = records_of_block(block)
    return records.rows(), refused


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_records_of_every_kind_come_back_as_they_were(kind: Kind) -> None:
    expected = tuple({"a": 1} if field.type is Type.JSON else VALUES[field.type] for field in kind.fields)
    assert read(kind, [row_of(kind)] * 3) == ([expected] * 3, 0)
    assert read(kind, []) == ([], 0)


@pytest.mark.parametrize("count", [1, STEP - 1, STEP, STEP + 1, 2 * STEP + 1])
def test_rows_keep_their_order_over_the_steps_of_encoding(count: int) -> None:
    rows = [
        (1.7e9 + number, f"key-{number % 3000}", "waiting", "memory", "", f"stimulus-{number}")
        for number in range(count)
    ]
    assert read(TRANSITION, rows) == (rows, 0)


def test_a_text_that_repeats_is_sent_once() -> None:
    rows = [row_of(TRANSITION, key=f"key-{number % 2}") for number in range(3 * STEP)]
    (block,) = decode(encode_rows(TRANSITION, rows))
    assert block.columns["key"].values == ["key-0", "key-1"]
    assert block.columns["start"].values == ["a name"]


def test_a_key_that_is_a_tuple_is_sent_as_it_shows() -> None:
    ((found,), refused) = read(TRANSITION, [row_of(TRANSITION, key=("x-1", 0, 3))])
    assert found[1] == "('x-1', 0, 3)"
    assert refused == 0


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "key",
    ["\ud800", "a\x00b", "<img onerror=alert(1)>", "k" * 10_000_000, Unprintable(), ("x", Unprintable())],
)
def test_a_hostile_key_becomes_a_text_within_its_limit(key: Any) -> None:
    ((found,), refused) = read(TRANSITION, [row_of(TRANSITION, key=key)])
    assert refused == 0
    assert isinstance(found[1], str)
    assert 0 < len(found[1]) <= Type.KEY.limit
    found[1].encode()


def test_json_that_is_too_long_is_left_out_whole() -> None:
    kind = KINDS["computation"]
    groups = "[" + "1," * Type.JSON.limit + "1]"
    annotations = '{"a": "' + "x" * Type.JSON.limit + '"}'
    ((found,), refused) = read(kind, [row_of(kind, groups=groups, annotations=annotations)])
    values = dict(zip(kind.names, found, strict=True))
    assert values["groups"] == []
    assert values["annotations"] == {"cut": len(annotations)}
    assert refused == 0


@pytest.mark.parametrize("wrong", [math.nan, math.inf, 0.0, -1.7e9, 1e12])
def test_a_record_of_no_time_is_refused_and_the_others_are_taken(wrong: float) -> None:
    found, refused = read(
        TRANSITION, [row_of(TRANSITION), row_of(TRANSITION, time=wrong), row_of(TRANSITION)]
    )
    assert len(found) == 2
    assert refused == 1


@pytest.mark.parametrize(
    "row",
    [
        row_of(TRANSITION)[:-1],
        (*row_of(TRANSITION), "more"),
        row_of(TRANSITION, time="soon"),
        row_of(TRANSITION, time=None),
        row_of(TRANSITION, key=["unhashable"]),
    ],
)
def test_a_row_that_doesnt_fit_its_kind_is_an_error_where_it_is_encoded(row: tuple[Any, ...]) -> None:
    for rows in ([row], [row_of(TRANSITION)] * STEP + [row]):
        with pytest.raises((ValueError, TypeError)):
            encode_rows(TRANSITION, rows)


@pytest.mark.parametrize("value", [-1, 2**32, 1.5])
def test_a_count_that_is_none_is_an_error_where_it_is_encoded(value: Any) -> None:
    with pytest.raises((TypeError, OverflowError)):
        encode_rows(KINDS["dropped"], [row_of(KINDS["dropped"], count=value)])


def test_a_batch_is_its_head_and_a_block_for_each_kind() -> None:
    head, blocks = decode_batch(
        encode_head(HEAD) + b"".join(encode_rows(kind, [row_of(kind)]) for kind in KINDS.values())
    )
    assert head == HEAD
    assert list(blocks) == list(KINDS)
    assert decode_batch(encode_head(replace(HEAD, is_last=True)))[0].is_last


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version 1, not 2"),
        ({"agent": "AB" * 16}, "agent has to be 32 hexadecimal digits"),
        ({"agent": None}, "agent has to be a text"),
        ({"scheduler_id": ""}, "scheduler_id is empty"),
        ({"name": "x" * 501}, "name has to be a text of at most 500"),
        ({"sequence": 0}, "sequence has to be a positive number"),
        ({"sequence": True}, "sequence has to be a positive number"),
        ({"sequence": 2**62}, "sequence has to be a positive number"),
        ({"started": 0}, "started has to be seconds"),
        ({"since": "now"}, "since has to be seconds"),
        ({"committed": -1}, "committed has to be seconds"),
    ],
)
def test_a_wrong_head_is_named(change: dict[str, Any], message: str) -> None:
    meta = {**asdict(HEAD), **change}
    with pytest.raises(BatchError, match=message):
        decode_batch(encode("batch", 0, [], meta))


def test_what_is_no_batch_is_refused() -> None:
    rows = encode_rows(TRANSITION, [row_of(TRANSITION)])
    for data, message in (
        (b"", "isn't the batch's head"),
        (rows, "isn't the batch's head"),
        (encode_head(HEAD) + rows + rows, "two blocks of kind 'transition'"),
        (encode_head(HEAD) + rows[:-1], "ends after"),
        (encode_head(HEAD) + b"\x1f\x8b", "too few for a block"),
    ):
        with pytest.raises(BatchError, match=message):
            decode_batch(data)


def test_a_block_without_its_columns_is_refused() -> None:
    (block,) = decode(encode_rows(KINDS["sample"], [row_of(KINDS["sample"])]))
    with pytest.raises(BatchError, match="transition has no column key of type text"):
        records_of_block(replace(block, kind="transition"))
    with pytest.raises(BatchError, match="no kind of record 'nonsense'"):
        records_of_block(replace(block, kind="nonsense"))


TEXTS = st.text(max_size=30)
ROWS = st.lists(st.tuples(st.floats(1e9, 4e9), st.floats(allow_nan=False, allow_infinity=False), TEXTS))


@settings(deadline=None)
@given(ROWS)
def test_any_numbers_and_texts_come_back_or_are_refused(rows: list[tuple[float, float, str]]) -> None:
    found, refused = read(KINDS["sample"], rows)
    assert refused == 0
    assert [row[:2] for row in found] == [row[:2] for row in rows]
    for (_, _, text), (_, _, given_text) in zip(found, rows, strict=True):
        assert len(text) <= len(given_text)


@pytest.mark.parametrize("status", [None, 5, "x", [], {}, {"version": 3, "waiting": -1, "spooled": True}])
def test_a_status_that_is_missing_or_malformed_is_unknown(status: object) -> None:
    meta = {**asdict(HEAD), "status": status}
    head, _ = decode_batch(encode("batch", 0, [], meta))
    assert head.status == AgentStatus()


def test_an_agents_status_is_read() -> None:
    status = AgentStatus("1.2.3", 3, 2, 1000, 0, is_over=True)
    head, _ = decode_batch(encode_head(replace(HEAD, status=status)))
    assert head.status == status
