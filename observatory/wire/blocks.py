"""Blocks: records of one kind as columns, the encoding of sockets, tiles and exports.

Layout, little-endian, every part padded to 8 bytes:

    4 bytes   b"DOB1"
    uint32    length of the header in bytes (a multiple of 8)
    uint32    length of the columns in bytes (a multiple of 8)
    uint32    reserved, 0
    header    JSON, padded with spaces:
              {"kind", "rows", "meta", "columns": [{"name", "type", "offset", "values"?}]}
    columns   typed arrays, each starting at its offset (a multiple of 8)

Types are f64, f32, u32, i32, u8, i64 (in files alone: browsers read the others) and `text`: a text column is
a u32 array of indices into its `values`, or has no offset and a value for each row. Columns of the same type
and numbers can have the same offset, in tiles. Blocks can be concatenated.
"""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from observatory.wire.block_headers import structures

MAGIC = b"DOB1"
PREFIX = struct.Struct("<4sIII")
TYPECODES = {"f64": "d", "f32": "f", "u32": "I", "i32": "i", "u8": "B", "i64": "q"}
WIDTHS = {type: array(typecode).itemsize for type, typecode in TYPECODES.items()} | {"text": 4}
"""bytes of an item"""
MAXIMUM_ROWS = 10_000_000
MAXIMUM_COLUMNS = 64
MAXIMUM_CONTAINERS = 10_000
"""JSON objects and lists in a header: each takes up to a hundred times the memory of its two bytes"""

Buffer = bytes | bytearray | memoryview


class BlockError(ValueError):
    """A block that cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `data` is a buffer of the type's items; for text, u32 indices into `values`.

    Without `has_data` a text column is encoded without the indices: it has a value for each row.
    """

    name: str
    type: str
    data: Any
    values: Sequence[str] | None = None
    has_data: bool = True


@dataclass(frozen=True, slots=True)
class Block:
    kind: str
    rows: int
    columns: dict[str, Column]
    meta: Mapping[str, Any] = field(default_factory=dict)

    def list(self, name: str) -> list[Any]:
        """The values of a column as Python objects (text as str)."""
        column = self.columns[name]
        typecode = TYPECODES.get(column.type, "I")
        items = array(typecode)
        items.frombytes(bytes(memoryview(column.data).cast("B")))
        if column.values is None:
            return items.tolist()
        return [column.values[index] for index in items]


def text_column(name: str, texts: Iterable[str]) -> Column:
    """A text column whose repeated values are stored once."""
    codes: dict[str, int] = {}
    data = array("I", (codes.setdefault(text, len(codes)) for text in texts))
    return Column(name, "text", data, list(codes))


def number_column(name: str, type: str, numbers: Iterable[Any]) -> Column:
    """A column of numbers; `type` is one of TYPECODES."""
    return Column(name, type, array(TYPECODES[type], numbers))


def encode(
    kind: str,
    rows: int,
    columns: Sequence[Column],
    meta: Mapping[str, Any] | None = None,
    may_share: bool = False,
    to_json: Callable[[Any], bytes] | None = None,
) -> bytes:
    """The bytes of a block. Raises BlockError if a column lacks `rows` items, ValueError on a NaN.

    `may_share`: columns of the same type and numbers are stored once. `to_json` encodes the header instead of
    Python's own `json`: only servers have a faster library.
    """
    described: list[dict[str, Any]] = []
    offsets: dict[tuple[str, bytes], int] = {}
    parts: list[bytes] = []
    offset = 0
    for column in columns:
        if not column.has_data:
            described.append(_distinct_texts(column, rows))
            continue
        data = memoryview(column.data).cast("B").tobytes() if rows else b""
        width = array(TYPECODES.get(column.type, "I")).itemsize
        if len(data) != rows * width:
            raise BlockError(f"column {column.name!r} has {len(data)} bytes, not {rows} × {width}")
        known = offsets.setdefault((column.type, data), offset) if may_share else offset
        entry: dict[str, Any] = {"name": column.name, "type": column.type, "offset": known}
        if column.values is not None:
            entry["values"] = list(column.values)
        described.append(entry)
        if known < offset:
            continue
        padded = data + b"\0" * (-len(data) % 8)
        parts.append(padded)
        offset += len(padded)
    header = (to_json or _to_json)(
        {"kind": kind, "rows": rows, "meta": dict(meta or {}), "columns": described}
    )
    header += b" " * (-len(header) % 8)
    return b"".join([PREFIX.pack(MAGIC, len(header), offset, 0), header, *parts])


def _to_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def _distinct_texts(column: Column, rows: int) -> dict[str, Any]:
    """The header's entry of a column without data."""
    if column.values is None or len(column.values) != rows:
        raise BlockError(f"column {column.name!r} has neither data nor {rows} values")
    return {"name": column.name, "type": column.type, "values": list(column.values)}


def decode(data: Buffer, may_share: bool = True, memory: int | None = None) -> Iterator[Block]:
    """The blocks in `data`; their columns are views of it. Raises BlockError if the bytes are no blocks.

    Without `may_share`, columns do not share bytes, so that their cost is bounded by the length of `data`.
    `memory`: about the most bytes that the contents of all headers may take in memory.
    """
    view = memoryview(data).cast("B")
    position = 0
    while position < len(view):
        if len(view) - position < PREFIX.size:
            raise BlockError(f"{len(view) - position} bytes at {position} are too few for a block")
        magic, header_length, columns_length, _ = PREFIX.unpack_from(view, position)
        if magic != MAGIC:
            raise BlockError(f"no block at byte {position}")
        header_start = position + PREFIX.size
        columns_start = header_start + header_length
        end = columns_start + columns_length
        if end > len(view):
            raise BlockError(f"the block at byte {position} ends after its {len(view) - position} bytes")
        header = view[header_start:columns_start]
        taken = _check_header(header, memory)
        memory = None if memory is None else memory - taken
        yield _block(header, view[columns_start:end], may_share)
        position = end


def _block(header_bytes: memoryview, columns: memoryview, may_share: bool) -> Block:
    try:
        header = json.loads(str(header_bytes, "utf-8", "surrogatepass"))
        kind, rows, described = header["kind"], header["rows"], header["columns"]
        if not isinstance(kind, str) or not isinstance(rows, int) or not 0 <= rows <= MAXIMUM_ROWS:
            raise BlockError("the block's header has no valid kind and rows")
        if len(described) > MAXIMUM_COLUMNS:
            raise BlockError(f"the block has {len(described)} columns, more than {MAXIMUM_COLUMNS}")
        if not may_share:
            _check_sizes(described, rows, len(columns))
        found = [_column(entry, rows, columns) for entry in described]
        return Block(kind, rows, {column.name: column for column in found}, header.get("meta") or {})
    except BlockError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise BlockError(f"the block's header can't be read: {str(error)[:200]}") from None


def _check_header(header: memoryview, memory: int | None) -> int:
    """Bounds what parsing the header costs, before it is parsed; returns about how much memory that takes.

    Raises BlockError.
    """
    taken = 0
    for structure in structures(header):
        if structure.containers > MAXIMUM_CONTAINERS:
            raise BlockError(f"the block's header has more than {MAXIMUM_CONTAINERS} objects and lists")
        taken = structure.memory(len(header))
        if memory is not None and taken > memory:
            raise BlockError(
                f"the blocks' headers have too many texts for {len(header)} bytes: send smaller batches"
            )
    return taken


def _check_sizes(described: Sequence[Mapping[str, Any]], rows: int, length: int) -> None:
    """Raises BlockError if columns share bytes."""
    sizes = sum(rows * WIDTHS.get(str(entry["type"]), 4) for entry in described if "offset" in entry)
    if sizes > length:
        raise BlockError(f"the block's columns need {sizes} bytes, and it has {length}")


def _column(entry: Mapping[str, Any], rows: int, columns: memoryview) -> Column:
    name, column_type = str(entry["name"]), entry["type"]
    if column_type != "text" and column_type not in TYPECODES:
        raise BlockError(f"column {name[:50]!r} has the unknown type {str(column_type)[:20]!r}")
    if column_type == "text" and "offset" not in entry:
        values = _texts(name, entry)
        if len(values) != rows:
            raise BlockError(f"column {name[:50]!r} has {len(values)} texts for {rows} rows")
        return Column(name, column_type, array("I", range(rows)), values)
    offset = entry["offset"]
    length = rows * array(TYPECODES.get(column_type, "I")).itemsize
    if not isinstance(offset, int) or offset < 0 or offset % 8 or offset + length > len(columns):
        raise BlockError(f"column {name[:50]!r} lies outside of its block")
    data = columns[offset : offset + length]
    if column_type != "text":
        return Column(name, column_type, data)
    values = _texts(name, entry)
    indices = array("I")
    indices.frombytes(data)
    if rows and max(indices) >= len(values):
        raise BlockError(f"column {name[:50]!r} refers to a text that it hasn't")
    return Column(name, column_type, data, values)


def _texts(name: str, entry: Mapping[str, Any]) -> list[str]:
    values = entry["values"]
    if not isinstance(values, list) or not set(map(type, values)) <= {str}:
        raise BlockError(f"column {name[:50]!r} has no list of texts")
    return values
