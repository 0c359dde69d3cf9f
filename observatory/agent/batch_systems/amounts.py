"""Reads amounts as batch systems write them; None for what isn't one."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from observatory.wire.workers.batch_jobs import LONGEST, MOST_COUNT, MOST_MEMORY, MOST_SECONDS

MIB = 2**20
SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,10})?)\s*([kmgtpe]?)(i?b|w)?", re.IGNORECASE)
POWERS = ("", "k", "m", "g", "t", "p", "e")
WORD = 8
"""bytes of a word, in which PBS may count"""
CLOCK = re.compile(r"(?:(\d{1,5})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?")


def text_of(environ: Mapping[str, str], *names: str) -> str:
    """The first of the variables that is set, shortened."""
    return next((value[:LONGEST] for name in names if (value := environ.get(name, "").strip())), "")


def count_of(text: str) -> int | None:
    text = text.strip()
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
    return number if number is not None and number <= MOST_COUNT else None


def seconds_of(text: str) -> float | None:
    """A plain number of seconds."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and 0 <= seconds <= MOST_SECONDS else None


def wait_of(submitted: float | None, started: float | None) -> float | None:
    """Seconds in the queue; None where one of the times isn't known, or they contradict each other."""
    return started - submitted if submitted and started and started >= submitted else None


def bytes_of(text: str, unit: int = 1) -> int | None:
    """A size such as 6gb or 600M, in powers of 1024; without a suffix it is in `unit` bytes."""
    found = SIZE.fullmatch(text.strip())
    if found is None:
        return None
    number, prefix, ending = float(found[1]), found[2].lower(), (found[3] or "").lower()
    scale = unit if not prefix and not ending else 1024 ** POWERS.index(prefix)
    size = number * scale * (WORD if ending == "w" else 1)
    return round(size) if 0 < size <= MOST_MEMORY else None


def duration_of(text: str) -> float | None:
    """Seconds of D-HH:MM:SS, D-HH:MM, D-HH, HH:MM:SS, MM:SS or SS; None for UNLIMITED."""
    found = CLOCK.fullmatch(text.strip())
    if found is None:
        return None
    days, *parts = found.groups()
    given = [int(part) for part in parts if part is not None]
    # with days, the first part is hours; without them the last one is seconds
    hours, minutes, seconds = [*given, 0, 0][:3] if days is not None else [*[0] * (3 - len(given)), *given]
    total = float(int(days or 0) * 86_400 + hours * 3_600 + minutes * 60 + seconds)
    return total if total <= MOST_SECONDS else None
