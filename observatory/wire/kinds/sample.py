"""Samples of series."""

from __future__ import annotations

from observatory.wire.columns import Index, Method
from observatory.wire.kind import Field, Importance, Kind, SeriesReference, Type
from observatory.wire.records import MetricType

RECORD_KIND = Kind(
    meaning="One value of one series.",
    importance=Importance.SAMPLES,
    fields=(
        Field("time", Type.TIME, "time of the sample", "s", "WorkerState.last_seen, or the agent's own tick"),
        Field(
            "value",
            Type.REAL,
            "the value",
            "in the metric's name",
            "WorkerState.metrics and what the metric's name says",
        ),
        Field(
            "series",
            Type.TEXT,
            'JSON: [metric, {label: value}, worker\'s address or "", type]; types: 1 gauge, 2 counter',
            "",
            "the agent's own",
            SeriesReference(tuple(type.name.lower() for type in MetricType)),
        ),
    ),
    reading=("time", "metric", "labels", "worker", "worker_name", "type", "value"),
    indexes=(Index(Method.TREE, ("series_id", "time")), Index(Method.BLOCKS, ("time",))),
    segment_by=("cluster_id", "series_id"),
)
