"""Parses and formats amounts with units: 80 %, 4 GiB, 1 h 30 min. Plain numbers are in the expected unit."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

BYTES = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12} | {
    f"{prefix}iB": 1024.0**power for power, prefix in enumerate("KMGT", 1)
}
SECONDS = {"ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86_400}
SIZES: dict[str, Mapping[str, float]] = {
    "bytes": BYTES,
    "seconds": SECONDS,
    "ratio": {"%": 0.01},
    "percent": {"%": 1},
    "watts": {"W": 1},
    "celsius": {"°C": 1},
    "": BYTES | SECONDS | {"%": 0.01},
}
"""for each unit (units.py) the suffixes of a number"""
WRITTEN = {
    "bytes": ("TiB", "GiB", "MiB", "KiB"),
    "seconds": ("d", "h", "min", "s", "ms"),
    "ratio": ("%",),
    "percent": ("%",),
    "watts": ("W",),
    "celsius": ("°C",),
}
"""suffixes for output; the first that gives a short number is used"""
RATE = "/s"
PER_SECOND = re.compile(r"\s*(/\s*s|per second)\s*$")
NUMBER_WITH_UNIT = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z%°]*)")


class AmountError(ValueError):
    """Says what can be entered."""


def parse_amount(text: str, unit: str) -> float:
    """Raises AmountError."""
    kind = unit.removesuffix(RATE)
    rest = PER_SECOND.sub("", text) if kind != unit else text.strip()
    sizes = {name.lower(): size for name, size in SIZES.get(kind, {}).items()}
    amount, pieces = 0.0, 0
    while rest.strip():
        match = NUMBER_WITH_UNIT.match(rest)
        if match is None or (match[2] and match[2].lower() not in sizes) or (pieces and not match[2]):
            raise AmountError(f"“{text[:40]}” isn't an amount: {_hint(kind)}")
        amount += _times(float(match[1]), sizes.get(match[2].lower(), 1))
        rest, pieces = rest[match.end() :], pieces + 1
    if not pieces or not math.isfinite(amount):
        raise AmountError(f"“{text[:40]}” isn't an amount: {_hint(kind)}")
    return amount


def _times(number: float, size: float) -> float:
    """The product; for small sizes the quotient, because 95 / 100 is 0.95 and 95 * 0.01 isn't."""
    return number * size if size >= 1 else number / round(1 / size)


def format_amount(value: float, unit: str) -> str:
    """Text that parse_amount reads as exactly the same number."""
    kind = unit.removesuffix(RATE)
    for name in WRITTEN.get(kind, ()):
        number = f"{value / SIZES[kind][name]:.4g}"
        text = f"{number} {name}"
        if value and "e" not in number and 1 <= abs(float(number)) < 10_000 and _same(text, unit, value):
            return text if kind == unit else f"{text}{RATE}"
    return f"{value:.12g}" if float(f"{value:.12g}") == value else repr(value)


def _same(text: str, unit: str, value: float) -> bool:
    return math.isclose(parse_amount(text, unit), value, rel_tol=1e-15)


def _hint(kind: str) -> str:
    names = SIZES.get(kind)
    return f"enter a number, optionally with {', '.join(names)}." if names else "enter a number."
