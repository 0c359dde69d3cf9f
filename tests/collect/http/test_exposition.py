"""The parser reads every page as prometheus_client does."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families

from observatory.collect.http import exposition
from observatory.collect.http.exposition import ExpositionError, Page, Parser
from observatory.wire.records import MetricType

TEXT = "text/plain; version=0.0.4"
OPENMETRICS = "application/openmetrics-text; version=1.0.0"
FAMILIES = {TEXT: text_families, OPENMETRICS: openmetrics_families}

names = st.sampled_from(["a", "a_total", "a_count", "a_bucket", "b:c", "é", "1a", '"q.r"'])
spaces = st.sampled_from([" ", "  ", "\t", " \t", "\x0b", "\r", ""])
label_values = st.text(st.sampled_from('ab\\"n\n{},= #é'), max_size=6)
numbers = st.sampled_from(
    [
        "1",
        "-1",
        "1.5",
        "1e3",
        "NaN",
        "nan",
        "+Inf",
        "-Inf",
        "infinity",
        "1_0",
        "0x1",
        "",
        "١",
        "9" * 400,
        "1 2",
        "x",
    ]
)
tails = st.sampled_from(["", " 1000", " 1.5", ' # {a="b"} 1', ' # {a="b"} 1 2', " "])


@st.composite
def samples(draw: st.DrawFn) -> str:
    labels = draw(
        st.dictionaries(st.sampled_from(["a", "le", "quantile", "é", '"u.v"']), label_values, max_size=3)
    )
    escape = draw(st.booleans())
    written = []
    for name, value in labels.items():
        if escape:
            value = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        written.append(f'{name}{draw(spaces) if draw(st.booleans()) else ""}="{value}"')
    braces = (
        "{" + draw(st.sampled_from([",", ", ", ",,"])).join(written) + "}"
        if labels or draw(st.booleans())
        else ""
    )
    return f"{draw(names)}{braces}{draw(spaces)}{draw(numbers)}{draw(tails)}"


comments = st.builds(
    lambda word, name, text: f"# {word} {name} {text}",
    st.sampled_from(["TYPE", "HELP", "UNIT", "EOF", "comment"]),
    names,
    st.sampled_from(
        ["counter", "gauge", "histogram", "summary", "untyped", "unknown", "info", "x \\n y\\\\", ""]
    ),
)
pages = st.builds(
    lambda lines, end, last: "\n".join(lines) + end + last,
    st.lists(st.one_of(samples(), comments, st.sampled_from(["", " ", "#", "# "])), max_size=8),
    st.sampled_from(["", "\n", "\n\n"]),
    st.sampled_from(["", "# EOF", "# EOF\n"]),
)


def _expected(page: str, content_type: str) -> list[Any] | None:
    """The samples that prometheus_client reads; None when it refuses the page."""
    try:
        return [
            (sample.name, sample.labels, sample.value, sample.timestamp, family.type)
            for family in FAMILIES[content_type](page)
            for sample in family.samples
        ]
    except Exception:
        return None


def _agrees(parser: Parser, page: str, content_type: str) -> None:
    expected = _expected(page, content_type)
    if expected is None:
        with pytest.raises(ExpositionError):
            parser.parse(page.encode(), content_type)
        return
    found = parser.parse(page.encode(), content_type).samples
    assert [(series.metric, dict(series.labels)) for series, _, _ in found] == [row[:2] for row in expected]
    for (_, value, time), (_, _, wanted, timestamp, _) in zip(found, expected, strict=True):
        if len(str(wanted)) < 300:
            assert value == wanted or (math.isnan(value) and math.isnan(wanted))
        answer = None if timestamp is None else float(timestamp)
        assert time == answer or (answer is not None and math.isnan(answer) and math.isnan(time or 0))


@pytest.mark.parametrize("content_type", [TEXT, OPENMETRICS])
@given(first=pages, second=pages)
@example(first='a{b="c"} 1\n', second='a{b="c"} 2\n')
def test_two_pages_of_an_endpoint_are_read_as_prometheus_client_reads_them(
    content_type: str, first: str, second: str
) -> None:
    parser = Parser()
    for page in (first, second, second, first):
        _agrees(parser, page, content_type)


@pytest.mark.parametrize("content_type", [TEXT, OPENMETRICS])
@given(page=pages, values=st.lists(numbers, min_size=1, max_size=4), data=st.data())
def test_a_page_with_other_values_is_read_as_prometheus_client_reads_it(
    content_type: str, page: str, values: list[str], data: st.DataObject
) -> None:
    parser = Parser()
    _agrees(parser, page, content_type)
    lines = page.split("\n")
    for value in values:
        at = data.draw(st.integers(0, len(lines) - 1))
        head, space, _ = lines[at].rpartition(" ")
        lines[at] = f"{head}{space}{value}"
        _agrees(parser, "\n".join(lines), content_type)


@pytest.mark.parametrize("content_type", [TEXT, OPENMETRICS])
@given(page=pages, values=st.lists(numbers, min_size=1, max_size=4), data=st.data())
def test_the_first_page_of_a_further_worker_is_read_as_prometheus_client_reads_it(
    content_type: str, page: str, values: list[str], data: st.DataObject
) -> None:
    _agrees(Parser(worker="tcp://127.0.0.1:1"), page, content_type)
    lines = page.split("\n")
    for number, value in enumerate(values):
        at = data.draw(st.integers(0, len(lines) - 1))
        head, space, _ = lines[at].rpartition(" ")
        lines[at] = f"{head}{space}{value}"
        _agrees(Parser(worker=f"tcp://127.0.0.2:{number}"), "\n".join(lines), content_type)


def test_a_page_of_many_workers_is_parsed_in_full_once(monkeypatch: pytest.MonkeyPatch) -> None:
    registry, counter, _ = _registry()
    parsed: list[int] = []
    parse = exposition.text_format.text_fd_to_metric_families
    monkeypatch.setattr(
        exposition.text_format, "text_fd_to_metric_families", lambda lines: parsed.append(1) or parse(lines)
    )
    monkeypatch.setattr(exposition, "shared_shapes", exposition.SharedShapes())
    for number in range(20):
        counter.labels('/"a"\\\n').inc()
        worker = f"tcp://127.0.0.1:{number}"
        page = Parser(worker=worker).parse(generate_latest(registry), TEXT)
        assert {series.worker for series, _, _ in page.samples} == {worker}
        assert page.helps["temperature"] == "Of it all."
        assert _values(page)["requests_total"] == number + 4
    assert len(parsed) == 1
    for page_of in (b"a 1\nb 2\n", b"a 1\nb 2\n"):
        Parser(worker="").parse(page_of, TEXT)
    assert len(parsed) == 3, "pages of schedulers differ by their prefixes"


def test_the_shapes_that_endpoints_share_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = exposition.SharedShapes()
    monkeypatch.setattr(exposition, "shared_shapes", shapes)
    for number in range(exposition.SHARED_SHAPES + 10):
        Parser(worker="w").parse(f"a{number} 1\n".encode(), TEXT)
        Parser(worker="v").parse(b"a0 1\n", TEXT)
    assert len(shapes._known) == exposition.SHARED_SHAPES
    assert shapes.get(TEXT, ["a0 5", ""]) is not None, "it was used all the time"
    Parser(worker="w").parse(b"# " + b"x" * exposition.SHARED_BYTES + b"\na 1\n", TEXT)
    assert shapes.get(TEXT, ["# " + "x" * exposition.SHARED_BYTES, "a 1", ""]) is None


def _values(page: Page) -> dict[str, float]:
    return {series.metric: value for series, value, _ in page.samples}


def _registry() -> tuple[CollectorRegistry, Counter, Histogram]:
    registry = CollectorRegistry()
    counter = Counter("requests", "Requests.", ["path"], registry=registry)
    counter.labels('/"a"\\\n').inc(3)
    Gauge("temperature", "Of it all.", registry=registry).set(math.nan)
    Summary("sizes", "Sizes.", registry=registry).observe(3)
    histogram = Histogram("seconds", "Time.", registry=registry)
    histogram.observe(0.3, {"trace": "x"})
    return registry, counter, histogram


@pytest.mark.parametrize(
    ("content_type", "generate"), [(TEXT, generate_latest), (OPENMETRICS, generate_openmetrics)]
)
def test_what_prometheus_client_writes_is_read_as_it_reads_it(content_type: str, generate: Any) -> None:
    registry, counter, histogram = _registry()
    parser = Parser()
    for _ in range(3):
        _agrees(parser, generate(registry).decode(), content_type)
        counter.labels("/new").inc()
        histogram.observe(2)


def _series(page: Page) -> dict[str, Any]:
    return {series.metric: series for series, _, _ in page.samples}


def test_a_series_is_the_same_object_as_long_as_it_is_on_the_page() -> None:
    parser = Parser(worker="tcp://127.0.0.1:1")
    first = _series(parser.parse(b"a 1\nb 2\n", TEXT))
    for page in (b"a 2\nb 3\n", b"c 1\na 2\nb 3\n"):
        again = _series(parser.parse(page, TEXT))
        assert again["a"] is first["a"]
    assert first["a"].worker == "tcp://127.0.0.1:1"


def test_counters_are_distinguished_from_gauges() -> None:
    registry, _, _ = _registry()
    types = {
        name: series.type for name, series in _series(Parser().parse(generate_latest(registry), TEXT)).items()
    }
    assert types["requests_total"] is types["seconds_bucket"] is types["sizes_sum"] is MetricType.COUNTER
    assert types["temperature"] is types["requests_created"] is MetricType.GAUGE
    assert _series(Parser().parse(b"a 1", TEXT))["a"].type is MetricType.UNKNOWN


@pytest.mark.parametrize(
    ("page", "content_type", "line"),
    [
        (b"a 1\nb{ 1\n", TEXT, "line 2"),
        (b"a 1\n\xff 1\n", TEXT, "line 2 is not UTF-8"),
        (b"<html>\n", TEXT, "line 1"),
        (b"# TYPE a counter\na_total -1\n# EOF\n", OPENMETRICS, "line 2"),
        (b"a 1\n", OPENMETRICS, "EOF"),
    ],
)
def test_a_malformed_page_is_refused_with_its_line(page: bytes, content_type: str, line: str) -> None:
    with pytest.raises(ExpositionError, match=line):
        Parser().parse(page, content_type)


def test_after_a_refused_page_a_good_one_is_read() -> None:
    parser = Parser()
    parser.parse(b"a 1\n", TEXT)
    with pytest.raises(ExpositionError):
        parser.parse(b"a x\n", TEXT)
    assert parser.parse(b"a 2\n", TEXT).samples[0][1] == 2.0
