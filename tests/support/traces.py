"""Spans of OpenTelemetry's API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace

TRACE = 0x4BF92F3577B34DA6A3CE929D0E0E4736
ID = f"{TRACE:032x}"


class RecordedSpan(trace.NonRecordingSpan):
    """A span that is recorded, as those of OpenTelemetry's SDK are."""

    def __init__(self, trace_id: int = TRACE) -> None:
        super().__init__(trace.SpanContext(trace_id, 0xF067AA0BA902B7, False, trace.TraceFlags(1)))
        self.attributes: dict[str, Any] = {}

    def is_recording(self) -> bool:
        return True

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value


@contextmanager
def span(trace_id: int = TRACE) -> Iterator[RecordedSpan]:
    made = RecordedSpan(trace_id)
    with trace.use_span(made):
        yield made
