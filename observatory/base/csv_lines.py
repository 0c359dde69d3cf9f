"""CSV lines that are safe to open in a spreadsheet: cells can't be formulas."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""first characters of formulas in spreadsheets, some of which take the full-width forms of = + - @ as well"""


def csv_lines(rows: Iterable[Sequence[Any]]) -> str:
    """Rows in RFC 4180 format. Times are in ISO 8601, UTC; None is empty."""
    text = io.StringIO()
    csv.writer(text).writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    """Puts an apostrophe before texts that look like formulas; leaves numbers as they are."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA) else value
    return value.isoformat() if isinstance(value, datetime) else value
