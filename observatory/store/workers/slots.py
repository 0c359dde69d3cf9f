"""The slot of a worker: what the successive lifetimes of one worker have in common.

It is the worker's name, and without a name of its own (Dask then uses the address) the address of its nanny,
which starts its process again. A worker that has neither fills a slot by itself.
"""

from __future__ import annotations

import json
from typing import LiteralString

SLOT: LiteralString = """CASE WHEN name NOT IN ('', address) THEN name
    ELSE coalesce(nullif(detail->>'nanny', ''), address) END"""
"""the slot of a row of the table worker"""


def slot_of(name: str, address: str, detail: str) -> str:
    """Return the slot of a worker; `detail` is its JSON object."""
    if name not in ("", address):
        return name
    return str(json.loads(detail).get("nanny") or address)
