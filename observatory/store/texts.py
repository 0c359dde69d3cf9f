"""Cleans names and JSON from outside: PostgreSQL accepts no NUL and no lone surrogates."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from observatory.wire.records import clean_text

MAXIMUM_NAME_LENGTH = 500
"""characters; in UTF-8 such a name fits into the 2,704 bytes of a B-tree entry"""
MAXIMUM_DEPTH = 8
MAXIMUM_ITEMS = 1_000
MAXIMUM_JSON_LENGTH = 100_000
LARGEST_INTEGER = 2**63 - 1
ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
MANY_DIGITS = re.compile(r"\d{19}")


def are_printable(texts: Iterable[str]) -> bool:
    """Whether all characters are printable: as str.isprintable, and much faster for ASCII."""
    joined = "".join(texts)
    if not joined.isascii():
        return joined.isprintable()
    codes = np.frombuffer(joined.encode(), np.uint8)
    return not len(codes) or bool(codes.min() >= ord(" ") and codes.max() <= ord("~"))


def clean_name(name: str) -> str:
    """Return a name that can be interned."""
    return clean_text(name, MAXIMUM_NAME_LENGTH)


def clean_json(value: Mapping[str, Any] | list[Any]) -> str:
    """Return JSON that a jsonb column accepts; values that are too deep or too long are cut and marked."""
    if (text := _if_clean(value)) is not None:
        return text
    text = json.dumps(_clean(value, MAXIMUM_DEPTH), ensure_ascii=False, separators=(",", ":"))
    if len(text) <= MAXIMUM_JSON_LENGTH:
        return text
    if isinstance(value, list):
        return json.dumps([f"a list of {len(text)} characters"])
    return json.dumps({"message": clean_text(str(value.get("message", ""))), "cut": len(text)})


def _if_clean(value: Mapping[str, Any] | list[Any]) -> str | None:
    """The JSON of a short value that has nothing to clean; faster than cleaning it. None: it may have."""
    try:
        text = ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError):
        return None
    depth = text.count("[") + text.count("{")
    is_clean = len(text) <= MAXIMUM_NAME_LENGTH and depth <= MAXIMUM_DEPTH and text.isprintable()
    # a backslash may stand for a control character, 19 digits for an integer of more than 64 bits
    return text if is_clean and "\\" not in text and not MANY_DIGITS.search(text) else None


def _clean(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= LARGEST_INTEGER else "an integer of more than 64 bits"
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth == 0:
        return "…"
    if isinstance(value, Mapping):
        items = list(value.items())[:MAXIMUM_ITEMS]
        return {clean_name(str(name)): _clean(item, depth - 1) for name, item in items}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_clean(item, depth - 1) for item in list(value)[:MAXIMUM_ITEMS]]
    return clean_text(str(value))
