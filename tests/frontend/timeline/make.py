"""What the tests of the frontend are told: blocks as the server encodes them."""

from __future__ import annotations

import base64
import json
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
    "maximum_level": 36,
    "target": None,
    "has_agent": True,
    "task_count": 1,
    "error_count": 0,
    "worker_count": 1,
}

Row = tuple[int, int, int, int, float, float]
"""lane, prefix, action, status, start, stop"""


def spans(rows: Sequence[Row], layer: str = "spans") -> bytes:
    columns = list(zip(*rows, strict=True))
    return encode(
        "span",
        len(rows),
        [
            number_column("lane", "u32", columns[0]),
            number_column("prefix", "u32", columns[1]),
            number_column("action", "u8", columns[2]),
            number_column("status", "u8", columns[3]),
            number_column("start", "f64", columns[4]),
            number_column("stop", "f64", columns[5]),
            number_column("nbytes", "f64", [28.0] * len(rows)),
            text_column("key", [f"inc-{number}" for number in range(len(rows))]),
            text_column("typename", ["int"] * len(rows)),
        ],
        {"layer": layer},
    )


def busy(level: int, index: int, rows: Sequence[tuple[int, int, int, int, float, int]]) -> bytes:
    """Rows are lane, bin, prefix, action, seconds, count."""
    columns = list(zip(*rows, strict=True))
    names = [
        ("lane", "u32"),
        ("bin", "u32"),
        ("prefix", "u32"),
        ("action", "u8"),
        ("seconds", "f32"),
        ("count", "u32"),
    ]
    described = [
        number_column(name, type, column) for (name, type), column in zip(names, columns, strict=True)
    ]
    return encode("busy", len(rows), described, {"level": level, "index": index})


def events(rows: Sequence[tuple[float, str] | tuple[float, str, dict[str, Any]]]) -> bytes:
    """Rows are time, kind and, where there is more to tell, the detail."""
    return encode(
        "event",
        len(rows),
        [
            number_column("time", "f64", [row[0] for row in rows]),
            number_column("worker", "i32", [-1] * len(rows)),
            text_column("kind", [row[1] for row in rows]),
            text_column("message", [""] * len(rows)),
            text_column("detail", [json.dumps(dict(*row[2:])) for row in rows]),
        ],
    )


def bins(layer: str, rows: Sequence[tuple[int, float, float]]) -> bytes:
    """Rows are series, time, value."""
    values = [value for _, _, value in rows]
    columns = [
        number_column("series", "u32", [series for series, _, _ in rows]),
        number_column("time", "f64", [time for _, time, _ in rows]),
        *(number_column(name, "f64", values) for name in ("min", "max", "mean", "last")),
        number_column("count", "u32", [1] * len(rows)),
    ]
    return encode("bin", len(rows), columns, {"layer": layer})


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


def extent(sequence: int = 1, **changes: Any) -> bytes:
    named = {name: INFO[name] for name in ("committed", "first", "last", "version", "ended", "end_reason")}
    return encode("extent", 0, [], {**named, "sequence": sequence, **changes})


def text(data: bytes) -> str:
    """For `bytesOf` in the page."""
    return base64.b64encode(data).decode()


BYTES_OF = "const bytesOf = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer;"
