"""An agent's batch: a head that says whose it is and which, and blocks of records.

The body of `POST /api/v1/ingest`: concatenated blocks, the first of kind `batch` with the head as its meta,
compressed as the header `Content-Encoding` says (`deflate`, zlib, is what the agent uses).
"""

from __future__ import annotations

import json
import math
import re
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from observatory.wire.blocks import TYPECODES, Block, BlockError, Buffer, Column, decode, encode
from observatory.wire.head import VERSION, Head
from observatory.wire.kinds import KINDS, MAXIMUM_NAME_LENGTH, Field, Kind, Type
from observatory.wire.records import clean_key, clean_text, is_time

HEAD = "batch"
STEP = 2_000
PAUSE = 5e-5
"""seconds: before Python 3.11 who sleeps for none has the interpreter back before anybody else wakes up"""
MAXIMUM_CONTAINERS = 100_000
"""JSON objects and lists in a column: more take more memory and time than a batch may"""
AGENT = re.compile(r"[0-9a-f]{32}")

Row = Sequence[Any]


class BatchError(ValueError):
    """A batch that can't be read; the message says what is wrong with it."""


def encode_head(head: Head) -> bytes:
    return encode(HEAD, 0, [], asdict(head))


def encode_rows(kind: Kind, rows: Sequence[Row]) -> bytes:
    """A block of `rows`, which are tuples in the order of the kind's fields.

    It runs beside the scheduler's event loop: that gets the interpreter back every STEP rows, within a
    millisecond rather than the 5 ms after which it is taken away. Raises ValueError, TypeError or
    OverflowError for rows that don't fit the fields.
    """
    data = [array(TYPECODES.get(field.type.column, "I")) for field in kind.fields]
    texts: list[dict[Any, int] | None] = [
        {} if field.type.column == "text" else None for field in kind.fields
    ]
    for start in range(0, len(rows), STEP):
        columns = zip(*rows[start : start + STEP], strict=True)
        for column, codes, values in zip(data, texts, columns, strict=True):
            # one look-up a value where it repeats; nothing else is done with each
            column.extend(
                values if codes is None else [codes.setdefault(value, len(codes)) for value in values]
            )
        time.sleep(PAUSE)
    return encode(
        kind.name,
        len(rows),
        [
            _column(field, column, codes)
            for field, column, codes in zip(kind.fields, data, texts, strict=True)
        ],
    )


def _column(field: Field, data: array[Any], codes: Iterable[Any] | None) -> Column:
    if codes is None:
        return Column(field.name, field.type.column, data)
    limit = field.type.limit
    shorten = _shortened_json if field.type is Type.JSON else _shortened
    values = [
        value if type(value) is str and len(value) <= limit else shorten(value, limit) for value in codes
    ]
    time.sleep(PAUSE)
    return Column(field.name, "text", data, values)


def _shortened(value: Any, limit: int) -> str:
    text = value if isinstance(value, str) else _shown(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _shortened_json(value: str, limit: int) -> str:
    """What is too long is left out whole: half of a JSON text is none."""
    if len(value) <= limit:
        return value
    return "[]" if value.startswith("[") else json.dumps({"cut": len(value)})


def _shown(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # a key of somebody's own type
        return f"<{type(value).__name__}>"


def decode_batch(data: Buffer) -> tuple[Head, dict[str, Block]]:
    """The head and the blocks of records by kind. Raises BatchError."""
    try:
        blocks = decode(data)
        first = next(blocks, None)
        if first is None or first.kind != HEAD:
            raise BatchError("the first block isn't the batch's head")
        head = _head(first.meta)
        found: dict[str, Block] = {}
        for block in blocks:
            if block.kind in found:
                raise BatchError(f"there are two blocks of kind {block.kind[:50]!r}")
            found[block.kind] = block
    except BlockError as error:
        raise BatchError(str(error)) from None
    return head, found


def _head(meta: Mapping[str, Any]) -> Head:
    version = meta.get("version")
    if version != VERSION:
        raise BatchError(f"this server reads batches of version {VERSION}, not {str(version)[:20]}")
    texts = {name: meta.get(name) for name in ("agent", "scheduler_id", "name", "address")}
    for name, text in texts.items():
        if not isinstance(text, str) or len(text) > MAXIMUM_NAME_LENGTH:
            raise BatchError(f"{name} has to be a text of at most {MAXIMUM_NAME_LENGTH} characters")
    if not AGENT.fullmatch(str(texts["agent"])):
        raise BatchError("agent has to be 32 hexadecimal digits")
    if not texts["scheduler_id"]:
        raise BatchError("scheduler_id is empty")
    sequence = meta.get("sequence")
    if isinstance(sequence, bool) or not isinstance(sequence, int) or not 0 < sequence < 2**62:
        raise BatchError("sequence has to be a positive number")
    times = {name: meta.get(name) for name in ("started", "since", "committed")}
    for name, value in times.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not (is_time(value) or (name == "committed" and value == 0)):  # type: ignore[arg-type]
            raise BatchError(f"{name} has to be seconds since the epoch")
    return Head(
        agent=str(texts["agent"]),
        sequence=sequence,
        scheduler_id=clean_text(str(texts["scheduler_id"])),
        name=clean_text(str(texts["name"])),
        address=clean_text(str(texts["address"])),
        started=float(times["started"] or 0),
        since=float(times["since"] or 0),
        committed=float(times["committed"] or 0),
        is_last=meta.get("is_last") is True,
    )


def decode_rows(block: Block) -> tuple[list[tuple[Any, ...]], int]:
    """The rows of a block as tuples in the order of its kind's fields, and how many were refused.

    Texts are clean, JSON is parsed, times are reasonable, numbers finite. Raises BatchError where the block
    has no known kind or hasn't its columns.
    """
    kind = KINDS.get(block.kind)
    if kind is None:
        raise BatchError(f"there is no kind of record {block.kind[:50]!r}")
    columns = [_read(kind, field, block) for field in kind.fields]
    rows = list(zip(*columns, strict=True))
    good = [row for row in rows if None not in row]
    return good, len(rows) - len(good)


def _read(kind: Kind, field: Field, block: Block) -> Iterator[Any]:
    """The column's values, None for one that is refused."""
    column = block.columns.get(field.name)
    if column is None or column.type != field.type.column:
        raise BatchError(f"{kind.name} has no column {field.name} of type {field.type.column}")
    if column.values is not None:
        clean = _CLEAN[field.type]
        limit = field.type.limit
        known = column.values if field.type is not Type.JSON else _bounded(column.values)
        values = [clean(value, limit) for value in known]
        indices = array("I")
        indices.frombytes(bytes(memoryview(column.data).cast("B")))
        return map(values.__getitem__, indices)
    numbers = block.list(field.name)
    if field.type is Type.TIME:
        return (number if is_time(number) else None for number in numbers)
    if field.type is Type.REAL:
        return (number if math.isfinite(number) else None for number in numbers)
    return iter(numbers)


def _bounded(texts: Sequence[str]) -> Iterator[str]:
    """JSON texts until they hold MAXIMUM_CONTAINERS objects and lists together; "" after that."""
    containers = 0
    for text in texts:
        containers += text.count("[") + text.count("{")
        yield text if containers <= MAXIMUM_CONTAINERS else ""


def _json(text: str, limit: int) -> Any:
    if len(text) > limit:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


_CLEAN: dict[Type, Callable[[str, int], Any]] = {
    Type.KEY: lambda text, limit: clean_key(text),
    Type.NAME: clean_text,
    Type.TEXT: clean_text,
    Type.LONG: clean_text,
    Type.JSON: _json,
}
