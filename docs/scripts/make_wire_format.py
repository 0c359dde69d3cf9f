"""Writes docs/wire-format.md from the declarations in observatory/wire/kinds/."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/wire-format.md"
HEAD = """# The wire format

The batches that agents send to the server. `docs/scripts/make_wire_format.py` writes this page from the
declarations in `observatory/wire/kinds/`, one module for each kind of record, which also name Dask's sources.

`POST /api/v1/ingest` with `Authorization: Bearer TOKEN` takes one *batch*: concatenated blocks, compressed as
the header `Content-Encoding` says (`gzip`, `deflate` or none). The first block is of kind `batch`. It has no
rows, and its meta is the head. Each further block holds the records of one kind as columns. A batch has at
most one block of each kind. `observatory/wire/blocks.py` describes the bytes of a block.

An agent numbers its batches and sends them in order. The answer `{"sequence": n, …}` is sent after the
batch's transaction is committed. A batch that was stored before is acknowledged and not stored again.
*Dropped first*, *after samples* or *last* says what an agent gives up when memory and disk are full.

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
    "KEY": "text; keys of other types are sent as `str` shows them",
    "NAME": "text",
    "TEXT": "text",
    "LONG": "text",
    "JSON": "text: a JSON object or list",
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
        parts.append(f"| {name} | {type} | {meaning} |\n")
    parts.append("\n## Types of fields\n| type | column | most characters |\n| --- | --- | --- |\n")
    for type in Type:
        parts.append(f"| {type.label} | {TYPES[type.name]} | {type.limit or ''} |\n")
    parts.append(
        "\nA longer text is cut. A row is refused, and counted in the answer, if a time is not between 2000\n"
        "and 2100, before the project's retention, or more than a day before the scheduler's start, a\n"
        "number is not finite, or a JSON field does not hold a JSON object or list. The answer 429 means:\n"
        "keep the batch and send it again after `Retry-After` seconds.\n\n"
        "A field is required unless its type is marked as optional. A block may be without the column of an\n"
        "optional field, as older agents send it: the text is then empty. A block without the column of a\n"
        "required field is refused. The optional fields of a kind are its last ones. Columns that the\n"
        "server does not know are ignored.\n\n"
        "## Names of keys\n"
        "The text of a key does not tell its type, and thus not how Dask names the task: the prefix of 1 is\n"
        '`Other`, that of "1" is `1`. Therefore the meta of a block has `names`: for each column of keys an\n'
        "object with the lists `prefixes` and `groups`, and `of`: for each text of the column its position\n"
        "in them, or -1 for a key that is a text itself, as Dask names it by this text. A column of texts\n"
        "alone has no names, and older agents send none. A block whose names do not fit is refused.\n"
    )
    for kind in KINDS.values():
        dropped = ("first", "after samples", "last")[kind.importance]
        parts.append(f"\n## {kind.name}\n{kind.meaning} *Dropped {dropped}.*\n\n")
        parts.append("| field | type | unit | meaning |\n| --- | --- | --- | --- |\n")
        for field in kind.fields:
            optional = ", optional" if field.is_optional else ""
            row = (field.name, field.type.label + optional, field.unit, field.meaning)
            parts.append(f"| {' | '.join(row)} |\n")
    return "".join(parts)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    PAGE.write_text(page())
