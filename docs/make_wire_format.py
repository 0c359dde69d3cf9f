"""Writes docs/wire-format.md from observatory/wire/kinds.py, to which a test holds it."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/wire-format.md"
HEAD = """# The wire format

What an agent sends, and what the server takes in. Written by `docs/make_wire_format.py` from
`observatory/wire/kinds.py`: a test holds it to the code.

`POST /api/v1/ingest` with `Authorization: Bearer TOKEN` takes one *batch*: concatenated blocks, compressed as
the header `Content-Encoding` says (`gzip`, `deflate` or none). The first block is of kind `batch` and has no
rows; its meta is the head. Each other block holds the records of one kind as columns, one block a kind.
A block's bytes are described in `observatory/wire/blocks.py`.

An agent numbers its batches and sends them in order. The answer `{"sequence": n, …}` comes after the batch's
transaction is committed; a batch that was stored before is acknowledged and not stored again.

## The head
| field | type | meaning |
| --- | --- | --- |
"""
TYPES = {
    "TIME": "f64, seconds since the epoch on the scheduler's clock",
    "REAL": "f64",
    "COUNT": "u32",
    "INTEGER": "i32",
    "CODE": "u8",
    "KEY": "text; what isn't one is shown by `str`",
    "NAME": "text",
    "TEXT": "text",
    "LONG": "text",
    "JSON": "text that holds a JSON object or list",
}
HEAD_FIELDS = {
    "version": ("number", "of this format; 1"),
    "agent": ("text", "32 hexadecimal digits: one agent in one scheduler process"),
    "sequence": ("number", "1, 2, 3 …: which batch of that agent"),
    "scheduler_id": ("text", "`Scheduler.id`: which cluster of the token's project"),
    "name": ("text", "of the cluster"),
    "address": ("text", "`Scheduler.address`"),
    "started": ("time", "when the scheduler started"),
    "since": ("time", "from when on the agent saw every task"),
    "committed": ("time", "with this batch the agent has told everything before; 0: it doesn't say"),
    "is_last": ("boolean", "the scheduler closes"),
}


def page() -> str:
    """The page's text."""
    from observatory.wire.kinds import KINDS, Type

    parts = [HEAD]
    for name, (type, meaning) in HEAD_FIELDS.items():
        parts.append(f"| {name} | {type} | {meaning} |\n")
    parts.append("\n## Types of fields\n| type | column | longest, in characters |\n| --- | --- | --- |\n")
    for type in Type:
        parts.append(f"| {type.label} | {TYPES[type.name]} | {type.limit or ''} |\n")
    parts.append(
        "\nA text that is longer is cut. A row with a time that isn't between 2000 and 2100, a number that\n"
        "isn't finite or text that isn't JSON where that is asked for is refused and counted in the answer.\n"
    )
    for kind in KINDS.values():
        parts.append(f"\n## {kind.name}\n{kind.meaning} When there is no room it is dropped ")
        parts.append(("first", "after samples", "last")[kind.importance] + ".\n\n")
        parts.append("| field | type | unit | meaning | from |\n| --- | --- | --- | --- | --- |\n")
        for field in kind.fields:
            source = f"`{field.source}`" if field.source else ""
            row = (field.name, field.type.label, field.unit, field.meaning, source)
            parts.append(f"| {' | '.join(row)} |\n")
    return "".join(parts)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    PAGE.write_text(page())
