"""Parses /metrics pages in Prometheus' text format and in OpenMetrics.

`prometheus_client` parses each new page and decides what is valid. Of a valid page we keep its shape: each
line up to the value. The next page almost always has the same shape: then only the values are parsed, and
each series is looked up by its line number. Endpoints share shapes: the first page of a further worker is
not parsed in full either.
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
SHARED_SHAPES = 64
"""Most shapes that are remembered for endpoints that are read for the first time."""
SHARED_BYTES = 2**18
"""Bytes of the largest page whose shape is shared."""
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


Identity = tuple[str, tuple[tuple[str, str], ...], MetricType]
"""A series without its worker: metric, labels, type."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """The lines of a valid page without their values: endpoints of one kind have the same."""

    heads: tuple[str, ...]
    """Of each line the text up to the value, or all of one that has no value."""
    series: tuple[Identity | None, ...]
    """Of each line; None if it has no value."""
    helps: Mapping[str, str]


class SharedShapes:
    """The last shapes of all endpoints: a page of a known one need not be parsed in full."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[str, ...]], _Shape] = {}
        """By content type and heads, the least recently used first."""

    def get(self, content_type: str, lines: Iterable[str]) -> _Shape | None:
        shape = self._known.pop((content_type, tuple(map(_head, lines))), None)
        if shape is not None:
            self.add(content_type, shape)
        return shape

    def add(self, content_type: str, shape: _Shape) -> None:
        self._known[content_type, shape.heads] = shape
        if len(self._known) > SHARED_SHAPES:
            del self._known[next(iter(self._known))]


shared_shapes = SharedShapes()


class Parser:
    """The parser of one endpoint: of the worker at an address, "" for the scheduler."""

    def __init__(self, worker: str = "") -> None:
        self.worker = worker
        self._known: dict[Identity, Series] = {}
        self._shapes: list[tuple[_Shape, list[Series | None]]] = []
        """Of the last pages, with the series of this endpoint."""
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
        for place, (shape, series) in enumerate(self._shapes):
            samples = self._parse_values(lines, shape, series)
            if samples is not None:
                self._shapes.insert(0, self._shapes.pop(place))
                return Page(samples)
        # schedulers' differ: by the prefixes of their tasks
        is_shared = bool(self.worker) and len(page) <= SHARED_BYTES
        if is_shared and (known := shared_shapes.get(content_type, lines)) is not None:
            series = self._series_of(known)
            samples = self._parse_values(lines, known, series)
            if samples is not None:
                self._remember(known, series, samples)
                return Page(samples, known.helps)
        return self._parse_fully(lines, is_shared)

    def _parse_values(
        self, lines: list[str], shape: _Shape, known: list[Series | None]
    ) -> list[tuple[Series, float, float | None]] | None:
        """The samples of a page with this shape and series; None when the page has another shape."""
        if len(lines) != len(known):
            return None
        is_strict = _is_openmetrics(self._content_type)
        samples: list[tuple[Series, float, float | None]] = []
        for line, known_head, series in zip(lines, shape.heads, known, strict=True):
            if series is None:
                if line != known_head:
                    return None
                continue
            head, _, number = line.rpartition(" ")
            if head != known_head or "_" in number or number != number.strip():
                return None
            try:
                value = float(number)
            except ValueError:
                return None
            if is_strict and series.type == MetricType.COUNTER and not value >= 0:
                return None
            samples.append((series, value, None))
        return samples

    def _parse_fully(self, lines: list[str], is_shared: bool) -> Page:
        reader = openmetrics if _is_openmetrics(self._content_type) else text_format
        numbered = _NumberedLines(lines)
        try:
            families = list(reader.text_fd_to_metric_families(numbered))
        except Exception as error:  # malformed pages make the library raise not only ValueError
            raise ExpositionError(
                f"line {numbered.number}: {str(error)[:200] or 'is not a sample'}"
            ) from None
        samples = [sample for family in families for sample in self._samples(family)]
        helps = _helps(families)
        shape = self._shape(lines, samples, families, helps)
        self._remember(shape, self._series_of(shape) if shape is not None else [], samples)
        if shape is not None and is_shared:
            shared_shapes.add(self._content_type, shape)
        return Page(samples, helps)

    def _remember(
        self,
        shape: _Shape | None,
        series: list[Series | None],
        samples: list[tuple[Series, float, float | None]],
    ) -> None:
        """Keeps the shape of the last page, and the series that pages still have."""
        if shape is not None:
            self._shapes = [(shape, series), *self._shapes[: SHAPES - 1]]
        used = {one for _, known in self._shapes for one in known} | {one for one, _, _ in samples}
        self._known = {identity: one for identity, one in self._known.items() if one in used}

    def _series_of(self, shape: _Shape) -> list[Series | None]:
        return [None if identity is None else self._one(identity) for identity in shape.series]

    def _one(self, identity: Identity) -> Series:
        """The series of this endpoint, always the same object."""
        series = self._known.get(identity)
        if series is None:
            metric, labels, type = identity
            series = self._known[identity] = Series(metric, labels, self.worker, type)
        return series

    def _samples(self, family: Metric) -> Iterator[tuple[Series, float, float | None]]:
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            series = self._one((sample.name, labels, _type(family.type, sample.name)))
            time = None if sample.timestamp is None else float(sample.timestamp)
            yield series, _float(sample.value), time

    def _shape(
        self,
        lines: list[str],
        samples: list[tuple[Series, float, float | None]],
        families: Iterable[Metric],
        helps: Mapping[str, str],
    ) -> _Shape | None:
        """The page's shape; None for a page with timestamps, exemplars or unusual white space.

        Pages without a shape are always parsed in full.
        """
        if _is_openmetrics(self._content_type) and not all(family.type in VALUE_FREE for family in families):
            return None
        found: list[Identity | None] = []
        remaining = iter(samples)
        for line in lines:
            if not _has_value(line):
                found.append(None)
                continue
            series, value, time = next(remaining)
            head, _, number = line.rpartition(" ")
            if time is not None or not head.strip() or not _is_value(number, value):
                return None
            found.append((series.metric, series.labels, series.type))
        return _Shape(tuple(map(_head, lines)), tuple(found), helps)


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


def _has_value(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _head(line: str) -> str:
    """A line up to its value; all of one without."""
    return line.rpartition(" ")[0] if _has_value(line) else line


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
