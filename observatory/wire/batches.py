"""An agent's batch: a head with the agent's id and the batch's number, and blocks of records.

The body of `POST /api/v1/ingest`: concatenated blocks, the first of kind `batch` with the head as its meta,
compressed as the header `Content-Encoding` says (`deflate`, zlib, is what the agent uses).

A key is sent as `str` shows it, from which neither its type nor the names that Dask gives it can be told: the
prefix of 1 is "Other", that of "1" is "1". Therefore a block's meta has the prefix and the group of each of
the texts in a column of keys: `{"names": {"key": {"prefixes": […], "groups": […], "of": […]}}}`. `of` has for
each text its position in both lists, and OF_TEXT for a key that is a text, which the server names. A column
of texts alone has no names.
"""

from __future__ import annotations

import json
import re
import time
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

from observatory.wire.blocks import TYPECODES, Block, BlockError, Buffer, Column, decode, encode
from observatory.wire.head import VERSION, AgentStatus, Head
from observatory.wire.kind import MAXIMUM_NAME_LENGTH, Field, Kind, Type
from observatory.wire.records import MAXIMUM_KEY_LENGTH, clean_text, is_time, key_text

HEAD = "batch"
STEP = 2_000
PAUSE = 5e-5
"""seconds; before Python 3.11 a thread that sleeps 0 s gets the interpreter back before any other wakes up"""
LONGEST_VERSION = 50
AGENT = re.compile(r"[0-9a-f]{32}")

OF_TEXT = -1
"""the key is a text: its names are those that Dask gives the text"""

Row = Sequence[Any]
SplitKey = Callable[[Any], tuple[str, str]]
"""gives the (prefix, group) of a key of any type"""


class BatchError(ValueError):
    """A batch that cannot be read; the message says why."""


def encode_head(head: Head) -> bytes:
    return encode(HEAD, 0, [], asdict(head))


def encode_rows(kind: Kind, rows: Sequence[Row], split_key: SplitKey | None = None) -> bytes:
    """A block of `rows`, which are tuples in the order of the kind's fields, all of one length.

    `split_key`: names the keys, which are as Dask has them; without it, the server names them by their texts.
    It runs beside the scheduler's event loop and releases the interpreter every STEP rows, which take less
    than the 5 ms of the interpreter's switch interval. Raises ValueError, TypeError or
    OverflowError for rows that don't fit the fields.
    """
    fields = fields_of_rows(kind, rows)
    data = [array(TYPECODES.get(field.type.column, "I")) for field in fields]
    texts: list[dict[Any, int] | None] = [{} if field.type.column == "text" else None for field in fields]
    for start in range(0, len(rows), STEP):
        columns = zip(*rows[start : start + STEP], strict=True)
        for column, codes, values in zip(data, texts, columns, strict=True):
            # one look-up for each value; nothing else is done with each row
            column.extend(
                values if codes is None else [codes.setdefault(value, len(codes)) for value in values]
            )
        time.sleep(PAUSE)
    return encode(
        kind.name,
        len(rows),
        [_column(field, column, codes) for field, column, codes in zip(fields, data, texts, strict=True)],
        None if split_key is None else _meta(fields, texts, split_key),
    )


def _meta(
    fields: Sequence[Field], texts: Sequence[Iterable[Any] | None], split_key: SplitKey
) -> dict[str, Any]:
    """The meta of a block: the names of its keys."""
    names = {
        field.name: _names(found, split_key)
        for field, found in zip(fields, texts, strict=True)
        if field.type is Type.KEY and found is not None and not set(map(type, found)) <= {str}
    }
    return {"names": names} if names else {}


def _names(keys: Iterable[Any], split_key: SplitKey) -> dict[str, list[Any]]:
    """The distinct (prefix, group) of the keys, and for each key the position of its own."""
    positions: dict[tuple[str, str], int] = {}
    of: list[int] = []
    rest = iter(keys)
    while some := [
        OF_TEXT if key.__class__ is str else positions.setdefault(split_key(key), len(positions))
        for key in islice(rest, STEP)
    ]:
        of += some
        time.sleep(PAUSE)
    prefixes, groups = ([_shortened(pair[part], MAXIMUM_KEY_LENGTH) for pair in positions] for part in (0, 1))
    return {"prefixes": prefixes, "groups": groups, "of": of}


def fields_of_rows(kind: Kind, rows: Sequence[Row]) -> tuple[Field, ...]:
    """The fields that the rows have: all required ones, and none, some or all of the optional ones."""
    return kind.fields[: max(len(rows[0]), len(kind.required))] if rows else kind.fields


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
    text = key_text(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _shortened_json(value: str, limit: int) -> str:
    """A JSON text that is too long is replaced: a part of it would not be JSON."""
    if len(value) <= limit:
        return value
    return "[]" if value.startswith("[") else json.dumps({"cut": len(value)})


def decode_batch(data: Buffer, memory: int | None = None) -> tuple[Head, dict[str, Block]]:
    """The head and the blocks of records by kind. `memory`: as for `decode`. Raises BatchError."""
    try:
        blocks = decode(data, may_share=False, memory=memory)
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
        status=_status(meta.get("status")),
    )


def _status(given: Any) -> AgentStatus:
    """What is missing or has another type is unknown: agents of other versions send other fields."""
    if not isinstance(given, Mapping):
        return AgentStatus()
    version = given.get("version")
    numbers = {name: given.get(name) for name in ("waiting", "spooled", "spooled_bytes", "failures")}
    return AgentStatus(
        clean_text(version, LONGEST_VERSION) if isinstance(version, str) else None,
        is_over=given.get("is_over") is True,
        **{name: number for name, number in numbers.items() if _is_count(number)},
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62
