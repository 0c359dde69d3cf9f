"""The units of metrics, and values in them as people read them: "3.71 GiB", "90.3 %", "1.5 s".

Values have three significant digits, more than elsewhere: one just above its threshold has to differ from it.
"""

from __future__ import annotations

import math

from observatory.alerts.rules.conditions import (
    AnyCondition,
    Attribute,
    EventCondition,
    Function,
    Measure,
    Operation,
    RunCondition,
    Selector,
)
from observatory.clusters.formatting import format_duration
from observatory.wire.metrics import METRICS

SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
SYMBOLS = {"percent": "%", "watts": "W", "celsius": "°C"}
MAX_DURATION = 1e12
"""seconds; longer ones are written as numbers"""
SUFFIXES = ("bytes", "seconds", "ratio", "percent", "watts", "celsius")


def unit_of(condition: AnyCondition) -> str:
    """bytes, seconds, ratio, percent, watts, celsius, one of these with "/s", or "" for plain numbers."""
    if isinstance(condition, RunCondition):
        return "" if condition.measure is Measure.NEW_ERRORS else "ratio"
    if isinstance(condition, EventCondition):
        return ""
    unit = _unit(condition.selector)
    if condition.other is None:
        return unit
    other = condition.other
    if other is Attribute.MEMORY_LIMIT:
        below = "bytes"
    elif other is Attribute.NTHREADS and condition.operation is Operation.DIVIDE:
        # seconds of work per second, or percent of cores, become a share of the threads
        return unit if unit in ("ratio", "percent") else ""
    else:
        below = "" if isinstance(other, Attribute) else _unit(other)
    if condition.operation is Operation.SUBTRACT:
        return unit if unit == below else ""
    return "ratio" if unit == below else ""


def format_value(value: float | None, unit: str) -> str:
    """A value in a unit of `unit_of`; "–" for None and NaN."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if unit.endswith("/s"):
        return f"{format_value(value, unit.removesuffix('/s'))}/s"
    if unit == "bytes":
        return _size(value)
    if unit == "seconds" and abs(value) < MAX_DURATION:
        return format_duration(value)
    if unit == "seconds":
        return f"{_number(value)} s"
    if unit == "ratio":
        return f"{_number(value * 100)} %"
    if unit in SYMBOLS:
        return f"{_number(value)} {SYMBOLS[unit]}"
    return _number(value)


def unit_of_metric(name: str) -> str:
    """The declared unit of Observatory's and Dask's metrics; for others the unit in the name."""
    if name in METRICS:
        return METRICS[name].unit
    return unit_of_name(name)


def unit_of_name(name: str) -> str:
    """The unit by Prometheus' naming convention: `…_bytes_total` is in bytes."""
    name = name.removesuffix("_total")
    word = name.removesuffix("_per_second").rsplit("_", 1)[-1]
    unit = word if word in SUFFIXES else ""
    return f"{unit}/s" if name.endswith("_per_second") else unit


def _unit(selector: Selector) -> str:
    unit = unit_of_metric(selector.metric)
    if selector.function != Function.RATE:
        return unit
    if unit.endswith("/s"):
        return ""
    # seconds per second are a share
    return "ratio" if unit == "seconds" else f"{unit}/s"


def _size(value: float) -> str:
    step = 0
    while abs(value) >= 1024 and step < len(SIZES) - 1:
        value /= 1024
        step += 1
    return f"{_number(value)} {SIZES[step]}"


def _number(value: float) -> str:
    """Three significant digits; large numbers without decimals."""
    if abs(value) >= 1e15:
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
