"""Whether a metric is a counter: as declared, or by its name."""

from __future__ import annotations

from observatory.alerts.prometheus.labels import COUNTED
from observatory.wire.metrics import METRICS
from observatory.wire.records import MetricType


def is_counter(metric: str) -> bool:
    known = METRICS.get(metric)
    return known.type is MetricType.COUNTER if known else metric.endswith(COUNTED)


def may_be_counter(metric: str) -> bool:
    """False if the metric is known to be a gauge."""
    return is_counter(metric) or metric not in METRICS
