"""Numbers, durations and sizes as text for people. frontend/formatting.js follows the same rules.

tests/formatting.json is the table of examples that both are tested with.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

UNKNOWN = "–"
MINUS = "−"
SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
SECONDS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
MICROSECOND, MILLISECOND = 1e-6, 1e-3


def format_count(number: float) -> str:
    """A number with commas between thousands and at most one decimal: "5,610", "2.5"."""
    text = _fixed(abs(number), 1, ",").removesuffix(".0")
    return _signed(text, negative=number < 0 and text != "0")


def format_duration(seconds: float) -> str:
    """A duration in its largest units: "412 ms", "2.31 s", "29.0 s", "2 min 31 s", "3 h 12 min"."""
    length = abs(seconds)
    if length == 0:
        return "0 s"
    return _signed(_duration(length), negative=seconds < 0)


def format_age(seconds: float) -> str:
    """How long ago something happened, in its largest unit alone: "14 s ago", "3 h ago"."""
    whole = max(0, round(seconds))
    unit, size = next((each for each in SECONDS if whole >= each[1]), SECONDS[-1])
    return f"{whole // size} {unit} ago"


def format_bytes(nbytes: float) -> str:
    """Bytes in the largest unit that leaves a number of at least 1: "12.4 MiB"."""
    value, step = abs(nbytes), 0
    while value >= 1024 and step < len(SIZES) - 1:
        value, step = value / 1024, step + 1
    digits = 0 if step == 0 else 2 if value < 9.995 else 1
    return _signed(f"{_fixed(value, digits)} {SIZES[step]}", negative=nbytes < 0)


def format_percent(share: float) -> str:
    """A share in percent, with a decimal below ten: "0.4 %", "41 %"."""
    percent = abs(share) * 100
    if 0 < percent < 0.05:
        return "< 0.1 %"
    return _signed(f"{_percent(percent)} %", negative=share < 0)


def format_points(difference: float) -> str:
    """A difference of two shares: "1.2 percentage points"."""
    return _signed(f"{_percent(abs(difference) * 100)} percentage points", negative=difference < 0)


def format_money(amount: float, currency: str) -> str:
    """An amount of a currency: "12.40 EUR", "1,204 EUR", "< 0.01 EUR"."""
    if 0 < abs(amount) < 0.005:
        return f"< 0.01 {currency}".strip()
    text = _fixed(abs(amount), 2 if abs(amount) < 999.995 else 0, ",")
    return _signed(f"{text} {currency}".strip(), negative=amount < 0)


def format_value(value: float | None, unit: str) -> str:
    """A value of a unit: seconds, share, bytes or count. UNKNOWN where there is none."""
    if value is None or math.isnan(value):
        return UNKNOWN
    return FORMATS[unit](value)


FORMATS = {
    "seconds": format_duration,
    "share": format_percent,
    "bytes": format_bytes,
    "count": format_count,
}


def _duration(length: float) -> str:
    if length < 999.5 * MICROSECOND:
        return f"{_fixed(length / MICROSECOND, 0)} µs"
    if length < 999.5 * MILLISECOND:
        return f"{_fixed(length / MILLISECOND, 1 if length < 9.95 * MILLISECOND else 0)} ms"
    if length < 59.95:
        return f"{_fixed(length, 2 if length < 9.995 else 1)} s"
    rest = math.floor(length + 0.5)
    parts: list[int] = []
    for _, size in SECONDS:
        amount, rest = divmod(rest, size)
        parts.append(amount)
    first = next(place for place, amount in enumerate(parts) if amount)
    shown = [(parts[place], SECONDS[place][0]) for place in range(first, min(first + 2, len(parts)))]
    return " ".join(f"{amount} {unit}" for amount, unit in shown if amount)


def _percent(percent: float) -> str:
    if percent == 0:
        return "0"
    return _fixed(percent, 1) if percent < 9.95 else _fixed(percent, 0, ",")


def _fixed(value: float, digits: int, thousands: str = "") -> str:
    """Rounded half up, as JavaScript's toFixed does; Python's format rounds half to even."""
    exact = Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return f"{exact:{thousands}f}"


def _signed(text: str, *, negative: bool) -> str:
    return f"{MINUS}{text}" if negative else text
