"""The trace in which a run is opened, by OpenTelemetry's own API, and the run's address in its span."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from observatory.agent.trace_context import link_trace, trace_tags
from tests.support.traces import ID, RecordedSpan, span

SPAN = "00f067aa0ba902b7"
TRACEPARENT = f"00-{ID}-{SPAN}-01"
TAGS = {"trace": ID, "trace_span": SPAN}
OTHER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_run_in_a_span_has_the_ids_of_trace_and_span() -> None:
    with span():
        assert trace_tags({}) == TAGS
        assert trace_tags({"TRACEPARENT": OTHER}) == TAGS, "the span's own comes first"
    assert trace_tags({}) == {}


@pytest.mark.parametrize(
    ("variable", "tags"),
    [
        (TRACEPARENT, TAGS),
        (TRACEPARENT.replace("00-", "01-", 1) + "-of a later version", TAGS),
        (f"00-{'0' * 32}-{SPAN}-01", {}),
        (f"00-{ID}-{'0' * 16}-01", {}),
        (TRACEPARENT.upper(), {}),
        (f"00-{ID[1:]}-00f067aa0ba902b7-01", {}),
        ("<img onerror=…>", {}),
        ("", {}),
    ],
)
def test_a_program_that_was_started_in_a_trace_has_its_ids(variable: str, tags: dict[str, str]) -> None:
    assert trace_tags({"TRACEPARENT": variable}) == tags


def test_a_span_without_a_trace_gives_no_tag() -> None:
    with span(0):
        assert trace_tags({}) == {}


def test_the_address_goes_to_a_recorded_span_alone() -> None:
    with span() as made:
        link_trace("")
        assert made.attributes == {}
        link_trace("https://o.example.org/runs/code/1/")
        assert made.attributes == {"observatory.run.url": "https://o.example.org/runs/code/1/"}
    link_trace("https://o.example.org/runs/code/1/")  # there is no span


def test_a_span_that_raises_does_not_disturb_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: RecordedSpan, *_: Any) -> Any:
        raise RuntimeError("exporter")

    monkeypatch.setattr(RecordedSpan, "set_attribute", fail)
    monkeypatch.setattr(RecordedSpan, "get_span_context", fail)
    with span():
        assert trace_tags({"TRACEPARENT": TRACEPARENT}) == TAGS
        link_trace("https://o.example.org/runs/code/1/")


def test_opentelemetry_is_not_imported_for_a_run() -> None:
    program = "import sys, observatory.agent.runs; assert 'opentelemetry' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
