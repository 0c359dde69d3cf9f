"""Parses /metrics pages in Prometheus' text format and in OpenMetrics.

`prometheus_client` parses each new page and decides what is valid. Of a valid page we keep its shape: each
line up to the value. The next page almost always has the same shape: then only the values are parsed, and
each series is looked up by its line number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client import Metric
from prometheus_client import parser as text_format
from prometheus_client.openmetrics import parser as openmetrics

from observatory.wire.records import MetricType, Series

SHAPES = 16
"""Most cached shapes of an endpoint; a series that comes and goes needs two."""
COUNTED = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"), "summary": ("_count", "_sum")}
"""By type of family: suffixes of the samples that are counters."""
VALUE_FREE = {"counter", "gauge", "unknown"}
"""OpenMetrics types whose only rule for values is that counters are not negative."""


class ExpositionError(ValueError):
    """A page that is not valid; the message names the line and the error."""


@dataclass(frozen=True, slots=True)
class Page:
    """A parsed page."""

    samples: list[tuple[Series, float, float | None]]
    """(series, value, time in seconds or None). A known series stays the same object."""
    helps: Mapping[str, str] = field(default_factory=dict)
    """Help texts by metric; only of a page with a new shape."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a shape: the text up to the value, or the whole line if it has no value."""

    head: str
    series: Series | None
    is_counter: bool = False


class Parser:
    """The parser of one endpoint: of the worker at an address, "" for the scheduler."""

    def __init__(self, worker: str = "") -> None:
        self.worker = worker
        self._known: dict[tuple[str, tuple[tuple[str, str], ...], MetricType], Series] = {}
        self._shapes: list[list[_Line]] = []
        self._content_type = ""

    def parse(self, page: bytes, content_type: str) -> Page:
        """Parses a page; its samples keep their order. Raises ExpositionError."""
        try:
            text = page.decode()
        except UnicodeDecodeError as error:
            line = page.count(b"\n", 0, error.start) + 1
            raise ExpositionError(f"line {line} is not UTF-8") from None
        if content_type != self._content_type:
            self._shapes, self._content_type = [], content_type
        lines = text.split("\n")
        for place, shape in enumerate(self._shapes):
            samples = self._parse_values(lines, shape)
            if samples is not None:
                self._shapes.insert(0, self._shapes.pop(place))
                return Page(samples)
        return self._parse_fully(lines)

    def _parse_values(
        self, lines: list[str], shape: list[_Line]
    ) -> list[tuple[Series, float, float | None]] | None:
        """The samples of a page with this shape; None when the page has another shape."""
        if len(lines) != len(shape):
            return None
        is_strict = _is_openmetrics(self._content_type)
        samples: list[tuple[Series, float, float | None]] = []
        for line, known in zip(lines, shape, strict=True):
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

    def _parse_fully(self, lines: list[str]) -> Page:
        reader = openmetrics if _is_openmetrics(self._content_type) else text_format
        numbered = _NumberedLines(lines)
        try:
            families = list(reader.text_fd_to_metric_families(numbered))
        except Exception as error:  # malformed pages make the library raise not only ValueError
            raise ExpositionError(
                f"line {numbered.number}: {str(error)[:200] or 'is not a sample'}"
            ) from None
        samples = [sample for family in families for sample in self._samples(family)]
        shape = self._shape(lines, samples, families)
        if shape is not None:
            self._shapes = [shape, *self._shapes[: SHAPES - 1]]
        used = {line.series for known in self._shapes for line in known} | {
            series for series, _, _ in samples
        }
        self._known = {identity: series for identity, series in self._known.items() if series in used}
        return Page(samples, _helps(families))

    def _samples(self, family: Metric) -> Iterator[tuple[Series, float, float | None]]:
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            identity = (sample.name, labels, _type(family.type, sample.name))
            series = self._known.get(identity)
            if series is None:
                series = Series(sample.name, labels, self.worker, identity[2])
            self._known[identity] = series
            time = None if sample.timestamp is None else float(sample.timestamp)
            yield series, _float(sample.value), time

    def _shape(
        self,
        lines: list[str],
        samples: list[tuple[Series, float, float | None]],
        families: Iterable[Metric],
    ) -> list[_Line] | None:
        """The page's shape; None for a page with timestamps, exemplars or unusual white space.

        Pages without a shape are always parsed in full.
        """
        if _is_openmetrics(self._content_type) and not all(family.type in VALUE_FREE for family in families):
            return None
        shape = []
        remaining = iter(samples)
        for line in lines:
            if not line.strip() or line.strip().startswith("#"):
                shape.append(_Line(line, None))
                continue
            series, value, time = next(remaining)
            head, _, number = line.rpartition(" ")
            if time is not None or not head.strip() or not _is_value(number, value):
                return None
            shape.append(_Line(head, series, series.type == MetricType.COUNTER))
        return shape


class _NumberedLines:
    """Iterates lines like a file, and remembers the number of the last line."""

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


def _helps(families: Iterable[Metric]) -> dict[str, str]:
    return {
        sample.name: " ".join(family.documentation.split())
        for family in families
        for sample in family.samples
        if family.documentation
    }


def _is_openmetrics(content_type: str) -> bool:
    return content_type.strip().lower().startswith("application/openmetrics-text")


def _type(family: str, name: str) -> MetricType:
    if name.endswith(COUNTED.get(family, ())):
        return MetricType.COUNTER
    return MetricType.UNKNOWN if family in ("untyped", "unknown") else MetricType.GAUGE


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # the library keeps huge integers as int
        return float("inf") if value > 0 else float("-inf")


def _is_value(number: str, value: float) -> bool:
    """Whether the text `number` alone gives `value`."""
    try:
        read = float(number)
    except ValueError:
        return False
    return "_" not in number and (read == value or (read != read and value != value))
