"""Reads JSON that schedulers send."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

LONG_NUMBER = re.compile(rb"\d{19}")
"""perhaps an integer beyond 64 bits, which orjson reads as a float"""


def read_json(body: bytes) -> Any:
    """The value of a JSON text. Raises ValueError and RecursionError.

    orjson takes a third of the time. Python's `json` reads what only it writes, such as NaN.
    """
    if LONG_NUMBER.search(body) is None:
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            pass
    return json.loads(body)
