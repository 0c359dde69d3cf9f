"""A hostile batch costs at most 50 times the CPU time of an honest one of its compressed size."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import struct
import time
import tracemalloc
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, replace
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from observatory.collect.agents.batch import batch_of
from observatory.collect.agents.body import PART_BYTES, UNPACKED, WINDOW, Body, BodyError, unpack
from observatory.collect.agents.decoding import FREE_MEMORY, MEMORY_PER_BYTE, decode_body
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
        read(unpacked(compressed, encoding), len(compressed))
    return time.thread_time() - start


def assert_bounded(compressed: bytes, encoding: str = "deflate") -> None:
    same_size = zlib.compress(honest(len(compressed)), 1)
    limit = FACTOR * (FLOOR + min(cost(same_size, "deflate") for _ in range(3)))
    assert min(cost(compressed, encoding) for _ in range(2)) < limit


def unpacked(compressed: bytes, encoding: str) -> bytearray:
    """As the server unpacks what it receives in parts. Raises BodyError."""
    parts = deque(compressed[start : start + PART_BYTES] for start in range(0, len(compressed), PART_BYTES))
    return unpack(parts, WINDOW[encoding])


def read(body: bytes | bytearray, sent: int) -> None:
    """Raises BodyError or BatchError."""
    head, blocks = decode_body(Body(body, sent))
    batch_of(1, head, blocks)


def refusal(body: bytes) -> str:
    body = encode_head(HEAD) + body
    with pytest.raises((BodyError, BatchError)) as refused:
        read(body, len(zlib.compress(body, 9)))
    return str(refused.value)


def test_a_long_text_in_each_of_many_records_is_refused() -> None:
    errors = [(NOW, "key", "tcp://1", "erred", "E", "too deep", "x" * 99_000, 0, "[]", 0)] * 9_000
    assert "the records' texts have 891" in refusal(encode_rows(KINDS["error"], errors))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_small_hostile_batch_costs_little(name: str) -> None:
    assert_bounded(zlib.compress(encode_head(HEAD) + HOSTILE[name](), 9))


def peak(compressed: bytes, encoding: str = "deflate") -> tuple[int, int]:
    """The most bytes of memory that reading the body takes, and its unpacked size."""
    size = 0
    tracemalloc.start()
    try:
        with contextlib.suppress(BodyError, BatchError):
            body = unpacked(compressed, encoding)
            size = len(body)
            read(body, len(compressed))
        return tracemalloc.get_traced_memory()[1], size
    finally:
        tracemalloc.stop()


def assert_frugal(body: bytes) -> None:
    ballast = block(b'{"kind": "ballast", "rows": 0, "columns": []}', NOISE)
    taken, size = peak(zlib.compress(encode_head(HEAD) + ballast + body, 9))
    assert size, "it was refused before it was read"
    assert taken < max(FREE_MEMORY, MEMORY_PER_BYTE * size) + ALLOWED


NOISE = random.Random(1).randbytes(520_000)
"""does not compress: bodies that unpack to more than 64 times their size are refused at once"""
ALLOWED = 1 << 20
"""bytes: of what every request takes"""
MANY = 30 << 20


def of_texts(texts: bytes) -> bytes:
    """A column of very many texts."""
    return block(
        b'{"kind": "log", "rows": 1, "columns": [{"name": "a", "type": "text", "values": [' + texts + b"]}]}"
    )


GREEDY: dict[str, Callable[[], bytes]] = {
    "brackets in texts": lambda: in_meta(b'"[",' * (MANY // 4)),
    "empty texts": lambda: in_meta(b'"",' * (MANY // 3)),
    "short texts": lambda: of_texts(b",".join(b'"%06x"' % number for number in range(MANY // 9))),
    "escaped texts": lambda: in_meta(rb'"\\"",' * (MANY // 6)),
    "a text with a wide character": lambda: in_meta(b'"' + b"x" * MANY + rb'\ud83d\ude00",'),
    "wide characters": lambda: in_meta(b'"' + b"x" * MANY + "\U0001f600".encode() + b'",'),
    "names in an object": lambda: in_meta(
        b"{" + b",".join(b'"%06x":0' % number for number in range(MANY // 11)) + b"},"
    ),
    "numbers": lambda: in_meta(b",".join(b"%d.5" % number for number in range(MANY // 10)) + b","),
    "backslashes": lambda: in_meta(b'"' + b"\\" * MANY + b'",'),
    "a text without an end": lambda: block(b'{"kind": "' + b"[" * MANY),
    "texts of many kinds": lambda: b"".join(
        block(
            b'{"kind": "k%d", "rows": 0, "columns": [], "meta": {"a": [' % kind
            + b",".join(b'"%06x"' % number for number in range(100_000))
            + b"]}}"
        )
        for kind in range(25)
    ),
}


@pytest.mark.parametrize("name", GREEDY)
def test_reading_a_greedy_body_takes_at_most_three_times_its_size(name: str) -> None:
    assert_frugal(GREEDY[name]())


@pytest.mark.parametrize("name", HOSTILE)
def test_reading_a_hostile_body_takes_at_most_three_times_its_size(name: str) -> None:
    assert_frugal(HOSTILE[name]()[:MANY])


def test_a_body_that_unpacks_to_the_limit_takes_little_more_than_that() -> None:
    taken, _ = peak(zlib.compress(NOISE + bytes(UNPACKED - len(NOISE) - 99), 9))
    assert UNPACKED < taken < 1.2 * UNPACKED + ALLOWED


@pytest.mark.parametrize("size", [1 << 10, 1 << 20, 4 << 20])
def test_an_honest_batch_of_any_size_is_not_refused_for_its_texts(size: int) -> None:
    """Four MiB with the keys of an agent's rows, a wide character among them."""
    names = ["x-\U0001f600", *(f"x-{number:024}" for number in range(size // 80))]
    rows = [(NOW, name, "processing", "memory", "tcp://1", name) for name in names]
    body = encode_head(HEAD) + encode_rows(KINDS["transition"], rows)
    _, blocks = decode_body(Body(body, len(body)))
    assert blocks["transition"].rows == len(names)


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
    head, blocks = decode_body(Body(unpacked(compressed, "gzip"), len(compressed)))
    assert (head.sequence, blocks["error"].rows) == (2, 45)
    assert asdict(head) == asdict(replace(HEAD, sequence=2))
