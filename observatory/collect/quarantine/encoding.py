"""The file of a batch: a line of JSON, then the batch as an agent would send it, compressed."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from observatory.collect.agents.batch import batch_of
from observatory.store.ingest.batches.batch import Batch
from observatory.store.texts import clean_json
from observatory.wire.batches import decode_batch, encode_head, encode_rows
from observatory.wire.head import Head
from observatory.wire.kind import Kind, Type
from observatory.wire.kinds import KINDS
from observatory.wire.records import Series

EARLIEST = 946_684_801.0
HEAD = Head("0" * 32, 1, "quarantine", "", "", EARLIEST, EARLIEST, 0.0)
"""no agent sends the file"""


@dataclass(frozen=True, slots=True)
class About:
    """What the file says of its batch, in its first line."""

    cluster: int
    records: int
    time: float
    """when it went into quarantine, in seconds"""
    reason: str
    """the error"""
    is_agents: bool
    errors: int
    """as Batch.errors"""


def encoded(batch: Batch, about: About) -> bytes:
    """Raises what encoding raises where the batch cannot be encoded at all."""
    blocks = [encode_rows(KINDS[kind], rows) for kind, rows in _rows(batch)]
    line = json.dumps(asdict(about)).encode()
    return gzip.compress(b"\n".join([line, b"".join([encode_head(HEAD), *blocks])]), 6)


def decoded(data: bytes) -> tuple[About, Batch, int]:
    """What is in a file, and how many of the records no table can hold. Raises ValueError."""
    try:
        line, _, body = gzip.decompress(data).partition(b"\n")
        about = about_of(line)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"the file is damaged: {error}") from None
    head, blocks = decode_batch(body)
    batch, refused = batch_of(about.cluster, head, blocks)
    return about, replace(batch, head=None, errors=about.errors, is_agents=about.is_agents), refused


def about_of(line: bytes) -> About:
    """The first line of a file. Raises ValueError."""
    try:
        return About(**json.loads(line))
    except TypeError as error:
        raise ValueError(f"the file is damaged: {error}") from None


def _rows(batch: Batch) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    for kind, records in batch.records.items():
        yield kind, [_encodable(KINDS[kind], row) for row in records.rows()]
    for kind, some in (("worker", batch.workers), ("gone", batch.gone), ("run", batch.runs)):
        if some:
            yield kind, [_encodable(KINDS[kind], _fields(KINDS[kind], row)) for row in some]


def _fields(kind: Kind, record: Any) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in kind.names)


def _encodable(kind: Kind, row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(_value(field.type, value) for field, value in zip(kind.fields, row, strict=True))


def _value(type: Type, value: Any) -> Any:
    if isinstance(value, Series):
        return json.dumps([value.metric, dict(value.labels), value.worker, int(value.type)])
    if type is Type.JSON:
        return clean_json(value) if not isinstance(value, str) else value
    return value.hex if type is Type.NAME and hasattr(value, "hex") and not isinstance(value, str) else value
