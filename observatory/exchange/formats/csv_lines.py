"""Rows as CSV that a spreadsheet can open without running what is in it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""what a spreadsheet takes for the beginning of a formula"""


def csv_lines(rows: Iterable[Sequence[Any]]) -> str:
    """The rows as RFC 4180 has them. Times are ISO 8601 in UTC; None is empty."""
    text = io.StringIO()
    csv.writer(text).writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets an apostrophe before it; numbers don't."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA) else value
    return value.isoformat() if isinstance(value, datetime) else value
