"""The main metrics of a run: memory, CPU and tasks by state, of its cluster and workers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import datetime
from itertools import starmap

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    Gauge,
    Metric,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
)

from observatory.exchange.receivers.otlp.attributes import SCOPE, Resources, attributes
from observatory.exchange.records.exported_records import Reader, Shown
from observatory.store.queries.named_records import Wanted, record_kinds
from observatory.store.times import to_microseconds
from observatory.wire.metrics import METRICS

UNITS = {
    "observatory_worker_memory_bytes": "By",
    "observatory_cluster_memory_bytes": "By",
    "observatory_worker_cpu_percent": "%",
    "observatory_cluster_tasks": "{task}",
}
"""by metric, as UCUM has them; all are gauges"""
SAMPLES = Shown(record_kinds()["sample"], ["worker", "metric", "labels", "value"])
POINTS_AT_ONCE = 2_000
SHORTEST_STEP = 5_000_000
"""microseconds between two points of a series"""
MOST_STEPS = 720
"""points of a series: of a longer run they are further apart"""
MOST_POINTS = 500_000

Key = tuple[str, str, str]
"""address of the worker, metric, labels (JSON)"""


class MetricsOfRun:
    """Makes requests of points, of each series at most one a step."""

    def __init__(self, source: Reader, resources: Resources) -> None:
        self._source = source
        self._resources = resources
        self._step = max(SHORTEST_STEP, (source.stop - source.start) // MOST_STEPS)
        self._last: dict[Key, int] = {}
        self.points = 0

    def requests(self) -> Iterator[ExportMetricsServiceRequest]:
        """The first MOST_POINTS."""
        waiting: dict[Key, list[NumberDataPoint]] = {}
        count = 0
        for rows in self._source.rows(SAMPLES, lambda _: None, Wanted("metric", list(UNITS))):
            for time, address, metric, labels, value in rows:
                key, at = (address, metric, labels), to_microseconds(time)
                if at - self._last.get(key, -self._step) < self._step or not math.isfinite(value):
                    continue
                self._last[key] = at
                waiting.setdefault(key, []).append(_point(at, labels, value))
                count += 1
                if count == POINTS_AT_ONCE:
                    yield self._request(waiting, time)
                    self.points += count
                    waiting, count = {}, 0
                if self.points >= MOST_POINTS:
                    return
        if waiting:
            self.points += count
            yield self._request(waiting, time)

    def _request(
        self, waiting: dict[Key, list[NumberDataPoint]], time: datetime
    ) -> ExportMetricsServiceRequest:
        by_worker: dict[str, dict[str, list[NumberDataPoint]]] = {}
        for (address, metric, _), points in waiting.items():
            by_worker.setdefault(address, {}).setdefault(metric, []).extend(points)
        return ExportMetricsServiceRequest(
            resource_metrics=[
                ResourceMetrics(
                    resource=self._resources.at(address, time),
                    scope_metrics=[ScopeMetrics(scope=SCOPE, metrics=starmap(_metric, metrics.items()))],
                )
                for address, metrics in by_worker.items()
            ]
        )


def _metric(name: str, points: list[NumberDataPoint]) -> Metric:
    gauge = Gauge(data_points=points)
    return Metric(name=name, description=METRICS[name].summary, unit=UNITS[name], gauge=gauge)


def _point(time: int, labels: str, value: float) -> NumberDataPoint:
    of = attributes({f"dask.{name}": str(text) for name, text in json.loads(labels).items()})
    return NumberDataPoint(time_unix_nano=time * 1000, attributes=of, as_double=value)
