"""Decodes the body of an agent's batch; what it may cost is limited by its size."""

from __future__ import annotations

from observatory.collect.agents.body import Body, BodyError
from observatory.store.blocks.block_size import json_containers, stored_characters
from observatory.wire.batches import decode_batch
from observatory.wire.blocks import Block
from observatory.wire.head import Head
from observatory.wire.kind import Type
from observatory.wire.kinds import KINDS

FREE_ROWS, ROWS_PER_BYTE = 10_000, 2
"""records of a batch: so many, and so many for each byte received; real ones take over 3 bytes"""
FREE_CONTAINERS, CONTAINERS_PER_BYTE = 20_000, 4
"""JSON objects and lists; real records have one in three bytes"""
FREE_CHARACTERS, CHARACTERS_PER_BYTE = 64_000_000, 1_000
"""of the records' texts as they are stored; an agent's batch has a tenth of it"""
FREE_MEMORY, MEMORY_PER_BYTE = 40 * 2**20, 3
"""bytes of memory that reading a batch may take: so many, or so many for each byte of its unpacked body (that
byte is one of them); an agent's batch has at most some 5 MiB"""


def decode_body(body: Body) -> tuple[Head, dict[str, Block]]:
    """Raises BatchError, and BodyError for a small body with more records than storing it may cost."""
    unpacked = len(body.data)
    head, blocks = decode_batch(body.data, max(FREE_MEMORY, MEMORY_PER_BYTE * unpacked) - unpacked)
    rows = sum(block.rows for block in blocks.values())
    if rows > FREE_ROWS + ROWS_PER_BYTE * body.sent:
        raise BodyError(413, f"{rows} records in {body.sent} bytes are too many: send smaller batches")
    containers = sum(json_containers(block, _json_fields(name)) for name, block in blocks.items())
    if containers > FREE_CONTAINERS + CONTAINERS_PER_BYTE * body.sent:
        raise BodyError(413, f"the records have {containers} JSON objects and lists: send smaller batches")
    characters = sum(map(stored_characters, blocks.values()))
    if characters > FREE_CHARACTERS + CHARACTERS_PER_BYTE * body.sent:
        raise BodyError(413, f"the records' texts have {characters} characters: send smaller batches")
    return head, blocks


def _json_fields(kind: str) -> list[str]:
    return [field.name for field in KINDS[kind].fields if field.type is Type.JSON] if kind in KINDS else []
