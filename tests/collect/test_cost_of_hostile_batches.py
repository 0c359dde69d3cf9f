"""A hostile batch costs at most 50 times the CPU time of an honest one of its compressed size."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import struct
import time
import zlib
from collections.abc import Callable
from dataclasses import asdict, replace
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from observatory.collect.agents.batch import batch_of
from observatory.collect.agents.body import WINDOW, BodyError, _unpack
from observatory.collect.agents.ingest import Body, _decode
from observatory.wire.batches import BatchError, encode_head, encode_rows
from observatory.wire.blocks import MAGIC, PREFIX, Column, encode
from observatory.wire.head import Head
from observatory.wire.kinds import KINDS

NOW = 1_780_000_000.0
HEAD = Head(uuid4().hex, 1, "Scheduler-1", "etl", "tcp://10.0.0.9:8786", NOW, NOW, NOW)
FACTOR = 50
FLOOR = 0.005
"""seconds: what a request costs beside its batch (the token, the cluster, a transaction)"""


def block(header: bytes, columns: bytes = b"") -> bytes:
    header += b" " * (-len(header) % 8)
    return PREFIX.pack(MAGIC, len(header), len(columns), 0) + header + columns


def in_meta(text: bytes) -> bytes:
    return block(b'{"kind": "span", "rows": 0, "columns": [], "meta": {"a": [' + text + b"0]}}")


def overlapping_columns() -> bytes:
    rows = 3_000_000
    columns = [{"name": f"c{i}", "type": "text", "offset": 0, "values": ["a"]} for i in range(40)]
    header = json.dumps({"kind": "span", "rows": rows, "columns": columns, "meta": {}})
    return block(header.encode(), bytes(4 * rows))


def repeated_samples(rows: int) -> bytes:
    series = json.dumps(["metric", {}, "", 1])
    return encode_rows(KINDS["sample"], [(NOW, 1.0, series)] * rows)


def events_of(detail: str, rows: int) -> bytes:
    texts = [f"{detail[:-1]}, {number}]" for number in range(rows)]
    return encode_rows(KINDS["event"], [(NOW, "topic", "", text) for text in texts])


HOSTILE: dict[str, Callable[[], bytes]] = {
    "lists in a block's meta": lambda: in_meta(b"[]," * (11 << 20)),
    "numbers in a block's meta": lambda: in_meta(b"0," * (16 << 20)),
    "numbers of thousands of digits": lambda: in_meta((b"9" * 4_299 + b",") * 7_000),
    "a number of a million digits": lambda: in_meta(b"9" * 1_000_000 + b","),
    "texts in a block's meta": lambda: in_meta(b'"",' * (10 << 20)),
    "objects within objects": lambda: block(b'{"a":' * 2_000_000),
    "columns on the same bytes": overlapping_columns,
    "a million equal samples": lambda: repeated_samples(1_000_000),
    "unprintable texts": lambda: encode_rows(
        KINDS["log"],
        [(NOW, "worker", "", 20, "x", "\x01" * 9_000 + str(n), "\x02" * 99_000, 1) for n in range(60)],
    ),
    "lists in details": lambda: events_of("[" + "[]," * 30_000 + "0]", 60),
    "empty blocks": lambda: block(b'{"kind": "span", "rows": 0, "columns": []}') * 300_000,
}


def honest(size: int) -> bytes:
    """A batch of transitions whose compressed size is about `size` bytes."""
    chance = random.Random(1)
    rows = [
        (
            NOW + chance.random(),
            f"inc-{chance.getrandbits(128):032x}",
            "processing",
            "memory",
            "tcp://1",
            "done",
        )
        for _ in range(max(1, size // 45))
    ]
    return encode_head(HEAD) + encode_rows(KINDS["transition"], rows)


def cost(compressed: bytes, encoding: str) -> float:
    """Seconds of CPU time until the batch is refused, or is ready to be stored."""
    start = time.thread_time()
    with contextlib.suppress(BodyError, BatchError):
        read(_unpack(compressed, WINDOW[encoding]), len(compressed))
    return time.thread_time() - start


def assert_bounded(compressed: bytes, encoding: str = "deflate") -> None:
    same_size = zlib.compress(honest(len(compressed)), 1)
    limit = FACTOR * (FLOOR + min(cost(same_size, "deflate") for _ in range(3)))
    assert min(cost(compressed, encoding) for _ in range(2)) < limit


def read(body: bytes, sent: int) -> None:
    """Raises BodyError or BatchError."""
    head, blocks = _decode(Body(body, sent))
    batch_of(1, head, blocks)


def refusal(body: bytes) -> str:
    body = encode_head(HEAD) + body
    with pytest.raises((BodyError, BatchError)) as refused:
        read(body, len(zlib.compress(body, 9)))
    return str(refused.value)


def test_a_long_text_in_each_of_many_records_is_refused() -> None:
    errors = [(NOW, "key", "tcp://1", "erred", "E", "too deep", "x" * 99_000, 0, "[]", 0)] * 9_000
    assert "the records' texts have 891" in refusal(encode_rows(KINDS["error"], errors))


def test_records_of_very_many_days_are_refused() -> None:
    """Each day takes a partition of the table."""
    transitions = [(NOW - 86_400 * day, "key", "waiting", "processing", "tcp://1", "") for day in range(401)]
    assert "need 401 partitions" in refusal(encode_rows(KINDS["transition"], transitions))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_small_hostile_batch_costs_little(name: str) -> None:
    assert_bounded(zlib.compress(encode_head(HEAD) + HOSTILE[name](), 9))


def test_many_gzip_members_cost_little() -> None:
    assert_bounded(gzip.compress(b"") * 50_000, "gzip")


structures = st.recursive(
    st.sampled_from([b"0", b"1e300", b'""', b'"[["', b"null", b"[]", b"{}"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda items: b"[" + b",".join(items) + b"]"),
        inner.map(lambda item: b'{"a":' + item + b"}"),
    ),
    max_leaves=8,
)


@given(structures, st.integers(1, 20), st.booleans())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_structure_that_repeats_costs_more(piece: bytes, power: int, in_texts: bool) -> None:
    times = min(1 << power, (8 << 20) // (len(piece) + 1))
    body = (piece + b",") * times
    text = json.dumps(body.decode()).encode() + b"," if in_texts else body
    assert_bounded(zlib.compress(encode_head(HEAD) + in_meta(text), 9))


@given(st.integers(0, 2**32), st.sampled_from(sorted(KINDS)), st.integers(1, 200_000))
@settings(max_examples=40, deadline=None)
def test_no_kind_of_records_costs_more_when_its_columns_repeat(seed: int, kind: str, rows: int) -> None:
    chance = random.Random(seed)
    width = {"f64": 8, "u32": 4, "i32": 4, "u8": 1, "text": 4}
    columns = []
    for field in KINDS[kind].fields:
        item = struct.pack("<d", NOW) if field.type.column == "f64" else bytes(width[field.type.column])
        values = ["[]" + " " * chance.randrange(10)] if field.type.column == "text" else None
        columns.append(Column(field.name, field.type.column, item * rows, values))
    assert_bounded(zlib.compress(encode_head(HEAD) + encode(kind, rows, columns), 9))


def test_an_honest_batch_of_an_agents_greatest_size_is_taken() -> None:
    traceback = "".join(f'  File "job.py", line {n % 3}, in recurse\n' for n in range(2_400))
    errors = [
        (NOW, f"key-{n}", "tcp://1", "erred", "RecursionError", "too deep", f"{n}{traceback}", 0, "[]", 0)
        for n in range(45)
    ]
    body = encode_head(replace(HEAD, sequence=2)) + encode_rows(KINDS["error"], errors)
    compressed = gzip.compress(body, 1)
    assert len(body) > 64 * len(compressed)
    head, blocks = _decode(Body(_unpack(compressed, WINDOW["gzip"]), len(compressed)))
    assert (head.sequence, blocks["error"].rows) == (2, 45)
    assert asdict(head) == asdict(replace(HEAD, sequence=2))
