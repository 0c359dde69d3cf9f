"""Writes docs/wire-format.md from the declarations in observatory/wire/kinds/."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from observatory.wire.kind import Field, Type

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/wire-format.md"
HEAD = """# The wire format

The batches that agents send. `docs/scripts/make_wire_format.py` writes this page from
`observatory/wire/kinds/`, a module a kind of record.

`POST /api/v1/ingest` with `Authorization: Bearer TOKEN` takes one *batch*: concatenated blocks, with
`Content-Encoding` `gzip`, `deflate` or none. The first block is of kind `batch`, has no
rows, and its meta is the head. Each further block holds the records of one kind as columns, at
most one block a kind. `observatory/wire/blocks.py` describes the bytes of a block.

An agent numbers its batches and sends them in order. The answer `{"sequence": n, …}` comes after the
commit; a batch that was stored before is acknowledged again.
*Dropped first*, *after samples* or *last* says what an agent gives up when memory and disk are full.

## The head
"""
TYPES = {
    "TIME": "f64, seconds since the epoch, scheduler's clock",
    "REAL": "f64",
    "COUNT": "u32",
    "INTEGER": "i32",
    "CODE": "u8",
    "KEY": "text, as `str` shows the key",
    "NAME": "text",
    "TEXT": "text",
    "LONG": "text",
    "JSON": "text of an object or list",
}
HEAD_FIELDS = {
    "version": ("number", "version of this format: 1"),
    "agent": ("text", "id of the agent, 32 hexadecimal digits: one for each scheduler process"),
    "sequence": ("number", "number of the batch: 1, 2, 3 …"),
    "scheduler_id": ("text", "`Scheduler.id`; identifies the cluster within the token's project"),
    "name": ("text", "name of the cluster"),
    "address": ("text", "`Scheduler.address`"),
    "started": ("time", "start of the scheduler"),
    "since": ("time", "start of the agent; it reports every task since then"),
    "committed": ("time", "all records before this time are in this batch or an earlier one; 0: unknown"),
    "is_last": ("boolean", "true in the last batch, which the agent sends when the scheduler closes"),
    "status": (
        "object, optional",
        "the agent when it sends the batch: `version` of its software, batches `waiting` for an "
        "acknowledgement, of the others those `spooled` on disk, `spooled_bytes`, `failures` of the agent "
        "itself; a missing field is unknown. `is_over`: its process is over, another one sends the batch "
        "from its disk",
    ),
}


def page() -> str:
    """The page's text."""
    from observatory.wire.kind import Type
    from observatory.wire.kinds import KINDS

    parts = [HEAD]
    for name, (type, meaning) in HEAD_FIELDS.items():
        parts.append(f"- `{name}` ({type}): {meaning}\n")
    types = [f"{type.label} ({TYPES[type.name]}{limit(type)})" for type in Type]
    parts.append(f"\n## Types of fields\n{', '.join(types)}.\n")
    parts.append(
        "\nA longer text is cut. A row is refused, and counted in the answer, if a time is not between 2000\n"
        "and 2100, before the project's retention, or over a day before the scheduler's start, a\n"
        "number is not finite, or a JSON field holds no JSON object or list. After 429, send the batch\n"
        "again in `Retry-After` seconds.\n\n"
        "*Optional* fields are the last of a kind; without their column their text is empty. A block\n"
        "without another column is refused. Unknown columns are ignored.\n\n"
        "## Names of keys\n"
        "The text of a key does not tell its type: Dask's prefix of the key 1 is\n"
        '`Other`, that of "1" is `1`. So the meta of a block may have `names`: for each column of keys an\n'
        "object with the lists `prefixes` and `groups`, and `of`: for each text its position\n"
        "in them, or -1 for a key that is a text itself. A column of texts alone has none. Names that do\n"
        "not fit refuse the block.\n"
    )
    for kind in KINDS.values():
        dropped = ("first", "after samples", "last")[kind.importance]
        parts.append(f"\n## {kind.name}\n{kind.meaning} *Dropped {dropped}.*\n\n")
        for field in kind.fields:
            parts.append(f"- `{field.name}` ({described_type(field)}): {field.meaning}\n")
    return "".join(parts)


def limit(type: Type) -> str:
    return f" of up to {type.limit:,} characters" if type.limit else ""


def described_type(field: Field) -> str:
    """With the unit, which all times have in common."""
    unit = "" if field.type.name == "TIME" else field.unit
    return ", ".join(filter(None, [field.type.label, unit, "optional" if field.is_optional else ""]))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    PAGE.write_text(page())
