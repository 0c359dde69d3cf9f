"""Formats of values in texts: `{value:humanize1024}`, `{value:%.2f}`, named as Prometheus' functions.

They give what Prometheus gives, so that imported messages read as before.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

LARGE, LARGE_1024 = "kMGTPEZY", ("ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi")
SMALL = "munpfazy"
VERB = re.compile(r"%[+-]?\d{0,2}(?:\.\d{1,2})?[efgdv]")
"""a verb of printf for a number"""


def is_format(name: str) -> bool:
    return name in FORMATS or VERB.fullmatch(name) is not None


def format_as(value: float | None, name: str) -> str:
    """A value in a format that `is_format` accepts; "–" for None."""
    if value is None:
        return "–"
    return FORMATS[name](value) if name in FORMATS else _printf(value, name)


def humanize(value: float) -> str:
    """Metric prefixes: 1.235k, 20m."""
    if value == 0 or not math.isfinite(value):
        return _short(value)
    if abs(value) < 1:
        return _small(value)
    return _prefixed(value, 1000, LARGE)


def humanize1024(value: float) -> str:
    """Binary prefixes: 3.5Gi."""
    if abs(value) <= 1 or not math.isfinite(value):
        return _short(value)
    return _prefixed(value, 1024, LARGE_1024)


def humanize_percentage(value: float) -> str:
    return f"{_short(value * 100)}%"


def humanize_duration(seconds: float) -> str:
    """1d 2h 3m 4s; 20ms."""
    if not math.isfinite(seconds):
        return _short(seconds)
    if 0 < abs(seconds) < 1:
        return f"{_small(seconds)}s"
    if abs(seconds) < 60:
        return f"{_short(seconds)}s"
    minutes, rest = divmod(int(abs(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "m"), (rest, "s")]
    while not parts[0][0]:
        del parts[0]
    sign = "-" if seconds < 0 else ""
    return sign + " ".join(f"{amount}{unit}" for amount, unit in parts)


FORMATS: dict[str, Callable[[float], str]] = {
    "humanize": humanize,
    "humanize1024": humanize1024,
    "humanizePercentage": humanize_percentage,
    "humanizeDuration": humanize_duration,
}


def _printf(value: float, verb: str) -> str:
    if not math.isfinite(value):
        return _short(value)
    # Go has %v for the shortest form, and refuses %d for a float: an integer is what was meant
    verb = verb.replace("v", "g") if verb.endswith("v") else verb
    return (verb[:-1].split(".")[0] + ".0f" if verb.endswith("d") else verb) % value


def _prefixed(value: float, base: int, prefixes: str | tuple[str, ...]) -> str:
    prefix = ""
    for each in prefixes:
        if abs(value) < base:
            break
        prefix, value = each, value / base
    return f"{_short(value)}{prefix}"


def _small(value: float) -> str:
    prefix = ""
    for each in SMALL:
        if abs(value) >= 1:
            break
        prefix, value = each, value * 1000
    return f"{_short(value)}{prefix}"


def _short(value: float) -> str:
    """Four significant digits."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return f"{value:.4g}"
