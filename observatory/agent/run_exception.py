"""Describes the exception that ended the code of a run, in the process of its client."""

from __future__ import annotations

import traceback

from observatory.wire.client_code.runs import LONGEST_MESSAGE, clean_line, clean_traceback, shown

MOST_FRAMES = 50
"""innermost, of each exception"""
TRACEBACK = "\nTraceback (most recent call last):\n"
"""begins what distributed appends to the messages of what it can't serialize"""


def describe_exception(error: BaseException) -> dict[str, str]:
    """Its `message`, in one line, and its `traceback` with those of its causes, as Python prints them."""
    try:
        printed = "".join(traceback.format_exception(error, limit=-MOST_FRAMES))
    except Exception:  # a __str__ that raises; its message says what it is then
        printed = ""
    return {
        "message": clean_line(shown(error).partition(TRACEBACK)[0], LONGEST_MESSAGE),
        "traceback": clean_traceback(printed),
    }
