"""The trace of OpenTelemetry in which a run is opened, and the address of the run in the trace.

The trace is that of the current span, else that of the variable TRACEPARENT, which programs get that are
started in a trace. Source: https://www.w3.org/TR/trace-context/. OpenTelemetry is not imported for it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from observatory.wire.client_code.runs import TRACE, TRACE_SPAN

RUN_URL = "observatory.run.url"
"""attribute of the span in which the run is opened"""
TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")
NONE = {"0" * 32, "0" * 16}


def trace_tags(environ: Mapping[str, str]) -> dict[str, str]:
    """The ids of the trace and the span as tags; {} outside of a trace."""
    with suppress(Exception):  # another version of the library
        context = _current_span().get_span_context()
        if context.is_valid:
            return {TRACE: f"{context.trace_id:032x}", TRACE_SPAN: f"{context.span_id:016x}"}
    found = TRACEPARENT.fullmatch(environ.get("TRACEPARENT", ""))
    return {} if found is None or NONE & {found[1], found[2]} else {TRACE: found[1], TRACE_SPAN: found[2]}


def link_trace(url: str) -> None:
    """Notes the address of a run in the current span, if there is one that is recorded."""
    with suppress(Exception):
        span = _current_span()
        if url and span.is_recording():
            span.set_attribute(RUN_URL, url)


def _current_span() -> Any:
    """Raises if OpenTelemetry isn't used."""
    return sys.modules["opentelemetry.trace"].get_current_span()
