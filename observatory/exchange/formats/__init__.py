"""Export formats: a module for each, and a line in `_FORMATS`."""

from __future__ import annotations

from observatory.exchange.formats.base import Format
from observatory.exchange.formats.bundle import BundleFormat
from observatory.exchange.formats.csv import Csv
from observatory.exchange.formats.html import Html
from observatory.exchange.formats.parquet import Parquet
from observatory.exchange.formats.speedscope import Speedscope
from observatory.exchange.formats.trace import Trace

_FORMATS: tuple[Format, ...] = (BundleFormat(), Html(), Parquet(), Csv(), Trace(), Speedscope())

FORMATS: dict[str, Format] = {format.name: format for format in _FORMATS}
"""by name"""
