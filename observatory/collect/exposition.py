"""Reads /metrics pages: Prometheus' text format and OpenMetrics.

A page is `prometheus_client`'s to read the first time: what it accepts, refuses and makes of a line is what
we do. Of a page that it accepted we keep the lines' beginnings, up to the value. The next page almost always
has the same lines with other values: then each value is read and its series looked up by the line's place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import Metric
from prometheus_client import parser as text_format
from prometheus_client.openmetrics import parser as openmetrics

from observatory.wire.records import MetricType, Series

COUNTED = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"), "summary": ("_count", "_sum")}
"""by type of family, the endings of the samples that only grow"""
VALUE_FREE = {"counter", "gauge", "unknown"}
"""types of OpenMetrics that are valid whatever the values are, if the counters' are numbers from 0 on"""


class ExpositionError(ValueError):
    """A page that is none; the message names the line and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Page:
    samples: list[tuple[Series, float, float | None]]
    """(series, value, time in seconds where the page tells it); a known series stays the same object"""


@dataclass(frozen=True, slots=True)
class _Line:
    """What a line has to begin with to be the same again: all of it where it has no value of its own."""

    head: str
    series: Series | None
    is_counter: bool = False


class Parser:
    """Of one endpoint, of the worker at an address ("": the scheduler)."""

    def __init__(self, worker: str = "") -> None:
        self.worker = worker
        self._known: dict[tuple[str, tuple[tuple[str, str], ...], MetricType], Series] = {}
        self._lines: list[_Line] = []
        self._content_type = ""

    def parse(self, page: bytes, content_type: str) -> Page:
        """The page's samples in its order. Raises ExpositionError."""
        try:
            text = page.decode()
        except UnicodeDecodeError as error:
            line = page.count(b"\n", 0, error.start) + 1
            raise ExpositionError(f"line {line} is no UTF-8") from None
        if content_type == self._content_type:
            samples = self._again(text.split("\n"))
            if samples is not None:
                return Page(samples)
        return self._anew(text, content_type)

    def _again(self, lines: list[str]) -> list[tuple[Series, float, float | None]] | None:
        """The samples of a page with the lines of the one before; None where more than values differ."""
        if len(lines) != len(self._lines):
            return None
        is_strict = _is_openmetrics(self._content_type)
        samples: list[tuple[Series, float, float | None]] = []
        for line, known in zip(lines, self._lines, strict=True):
            if known.series is None:
                if line != known.head:
                    return None
                continue
            head, _, number = line.rpartition(" ")
            if head != known.head or "_" in number or number != number.strip():
                return None
            try:
                value = float(number)
            except ValueError:
                return None
            if is_strict and known.is_counter and not value >= 0:
                return None
            samples.append((known.series, value, None))
        return samples

    def _anew(self, text: str, content_type: str) -> Page:
        reader = openmetrics if _is_openmetrics(content_type) else text_format
        lines = _Counted(text.split("\n"))
        try:
            families = list(reader.text_fd_to_metric_families(lines))
        except Exception as error:  # the library raises more than ValueError on what makes no sense
            raise ExpositionError(f"line {lines.number}: {str(error)[:200] or 'is no sample'}") from None
        before, self._known = self._known, {}
        samples = [sample for family in families for sample in self._samples(family, before)]
        self._learn(lines.lines, samples, families, content_type)
        return Page(samples)

    def _samples(
        self, family: Metric, before: dict[tuple[str, tuple[tuple[str, str], ...], MetricType], Series]
    ) -> Iterator[tuple[Series, float, float | None]]:
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            identity = (sample.name, labels, _type(family.type, sample.name))
            series = self._known.get(identity) or before.get(identity)
            if series is None:
                series = Series(sample.name, labels, self.worker, identity[2])
            self._known[identity] = series
            time = None if sample.timestamp is None else float(sample.timestamp)
            yield series, _float(sample.value), time

    def _learn(
        self,
        lines: list[str],
        samples: list[tuple[Series, float, float | None]],
        families: Iterable[Metric],
        content_type: str,
    ) -> None:
        """Keeps the lines' beginnings; every line that has a sample has one, in the samples' order."""
        self._lines, self._content_type = [], content_type
        if _is_openmetrics(content_type) and not all(family.type in VALUE_FREE for family in families):
            return
        remaining = iter(samples)
        for line in lines:
            if not line.strip() or line.strip().startswith("#"):
                self._lines.append(_Line(line, None))
                continue
            series, value, time = next(remaining)
            head, _, number = line.rpartition(" ")
            if time is not None or not head.strip() or not _is_value(number, value):
                self._lines = []  # times, exemplars, other white space: read anew each time
                return
            self._lines.append(_Line(head, series, series.type == MetricType.COUNTER))


class _Counted:
    """Lines as a file gives them, with the number of the last one that was read."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        last = len(self.lines)
        for number, line in enumerate(self.lines, 1):
            self.number = number
            if number < last:
                yield line + "\n"
            elif line:
                yield line


def _is_openmetrics(content_type: str) -> bool:
    return content_type.strip().lower().startswith("application/openmetrics-text")


def _type(family: str, name: str) -> MetricType:
    if name.endswith(COUNTED.get(family, ())):
        return MetricType.COUNTER
    return MetricType.UNKNOWN if family in ("untyped", "unknown") else MetricType.GAUGE


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits, which the library keeps as one
        return float("inf") if value > 0 else float("-inf")


def _is_value(number: str, value: float) -> bool:
    """True when `number` is what the library read `value` from."""
    try:
        read = float(number)
    except ValueError:
        return False
    return "_" not in number and (read == value or (read != read and value != value))
