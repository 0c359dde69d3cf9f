"""What the tests of the frontend are told: blocks as the server encodes them."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from observatory.wire.blocks import encode, number_column, text_column

FIRST = 1_700_000_000.0
"""when the cluster of these tests began"""

INFO: dict[str, Any] = {
    "id": 1,
    "name": "test",
    "started": FIRST,
    "first": FIRST,
    "last": FIRST + 1000,
    "committed": FIRST + 1000,
    "version": 1,
    "ended": None,
    "end_reason": "",
    "now": FIRST + 1000,
    "identity_interval": 1.0,
    "metrics_interval": 5.0,
    "tile_bins": 512,
    "band": 64,
    "minimum_level": 10,
    "minimum_span_level": 10,
    "maximum_level": 36,
    "target": None,
    "has_agent": True,
    "task_count": 1,
    "error_count": 0,
    "worker_count": 1,
}


def profile(rows: Sequence[tuple[float, int, int, int, int, int]]) -> bytes:
    """Rows are time, worker, prefix, source, stack, count."""
    columns = list(zip(*rows, strict=True))
    names = [("time", "f64"), ("worker", "i32"), ("prefix", "u32"), ("source", "u8")]
    names += [("stack", "u32"), ("count", "u32")]
    described = [
        number_column(name, type, column) for (name, type), column in zip(names, columns, strict=True)
    ]
    return encode("profile", len(rows), described)


def stacks(frames: Mapping[int, str]) -> bytes:
    columns = [number_column("id", "u32", frames), text_column("frames", frames.values())]
    return encode("stack", len(frames), columns)


def text(data: bytes) -> str:
    """For `bytesOf` in the page."""
    return base64.b64encode(data).decode()


BYTES_OF = "const bytesOf = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer;"
