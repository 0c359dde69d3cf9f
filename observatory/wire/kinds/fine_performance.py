"""Dask's fine performance metrics by Dask span."""

from __future__ import annotations

from observatory.wire.kind import Field, Importance, Kind, NameReference, Type

RECORD_KIND = Kind(
    meaning="What the tasks of a Dask span (dask.distributed.span) added to a fine performance metric.",
    importance=Importance.SAMPLES,
    fields=(
        Field("time", Type.TIME, "when it was read; it was added since the row before", "s", "Span"),
        Field("dask_span", Type.NAME, "the span's id", "", "Span.id of spans extension"),
        Field("names", Type.JSON, "list of the span's names, outermost first", "", "Span.name"),
        Field("context", Type.NAME, "execute, p2p and others", "", "Span.cumulative_worker_metrics"),
        Field(
            "prefix",
            Type.NAME,
            "prefix of the tasks; empty: of no prefix",
            "",
            "Span.cumulative_worker_metrics",
            NameReference("prefix", is_optional=True),
        ),
        Field(
            "activity",
            Type.NAME,
            "thread-cpu, disk-read, transfer and others",
            "",
            "Span.cumulative_worker_metrics",
        ),
        Field("unit", Type.NAME, "seconds, bytes or count", "", "Span.cumulative_worker_metrics"),
        Field("value", Type.REAL, "what was added, in this unit", "", "Span.cumulative_worker_metrics"),
    ),
)
