"""What the labels of Prometheus say: the cluster, the worker and the series of ours."""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf.message import DecodeError

from observatory.collect.agents.body import BodyError
from observatory.collect.prometheus.messages_pb2 import Label
from observatory.wire.metrics import METRICS
from observatory.wire.records import MetricType, Series

OF_CLUSTER = ("dask_cluster_name", "dask_org_cluster_name", "dask_cluster", "cluster", "job")
"""labels that name a cluster: the first that a series has"""
NAMESPACE, INSTANCE = "namespace", "instance"
OF_DASK, OF_WORKERS, THREADS = "dask_", "dask_worker_", "dask_worker_threads"
COUNTED = ("_total", "_count", "_sum", "_bucket")
MOST_LABELS, LONGEST_LABELS = 64, 8_192
"""of a series; bytes"""
MOST_BYTES = 32 << 20
"""of labels that are remembered, with SERIES_BYTES for each series beside them"""
SERIES_BYTES = 1_500

CHARTS: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "dask_worker_memory_bytes": ("observatory_worker_memory_bytes", ()),
    "dask_worker_tasks": ("observatory_worker_tasks", ()),
    "dask_worker_transfer_incoming_bytes": (
        "observatory_worker_transfer_bytes",
        (("direction", "incoming"),),
    ),
    "dask_worker_transfer_outgoing_bytes": (
        "observatory_worker_transfer_bytes",
        (("direction", "outgoing"),),
    ),
    "dask_scheduler_clients": ("observatory_cluster_clients", ()),
    "dask_scheduler_tasks": ("observatory_cluster_tasks", ()),
    "dask_scheduler_workers": ("observatory_cluster_workers", ()),
}
"""Dask's metrics that charts show under another name, with labels that this one has besides"""


@dataclass(frozen=True, slots=True)
class Found:
    """What the labels of a series say."""

    cluster: str
    """its name; "": no label names it"""
    is_of_dask: bool
    instance: str
    series: Series
    shown: Series | None
    """the series that charts draw"""

    @property
    def is_of_threads(self) -> bool:
        return self.series.metric == THREADS


class KnownLabels:
    """Remembers what labels say: those of nearly all samples came before. Thread-safe."""

    def __init__(self) -> None:
        self._known: dict[bytes, Found] = {}
        self._size = 0

    def find(self, encoded: list[bytes]) -> Found:
        """`encoded`: a message Label each. Raises BodyError."""
        key = b"".join(encoded)
        found = self._known.get(key)
        if found is None:
            if len(encoded) > MOST_LABELS or len(key) > LONGEST_LABELS:
                raise BodyError(
                    400, f"a series has at most {MOST_LABELS} labels of {LONGEST_LABELS:,} bytes together"
                )
            found = _found(encoded)
            if self._size > MOST_BYTES:
                self._known, self._size = {}, 0
            self._known[key] = found
            self._size += len(key) + SERIES_BYTES
        return found


def _found(encoded: list[bytes]) -> Found:
    try:
        labels = {label.name: label.value for label in map(Label.FromString, encoded)}
    except DecodeError:
        raise BodyError(400, "the labels of a series aren't messages Label of protobuf") from None
    metric = labels.pop("__name__", "")
    if not metric:
        raise BodyError(400, "a series has no label __name__")
    instance = labels.get(INSTANCE, "")
    is_of_worker = metric.startswith(OF_WORKERS) and bool(instance)
    worker = instance if is_of_worker else ""
    known = METRICS.get(metric)
    type = known.type if known else MetricType.COUNTER if metric.endswith(COUNTED) else MetricType.UNKNOWN
    own = tuple(sorted((name, value) for name, value in labels.items() if value))
    shown = None
    if metric in CHARTS:
        name, added = CHARTS[metric]
        kept = [(label, value) for label, value in own if label in ("state", "type")]
        shown = Series(name, tuple(sorted([*kept, *added])), worker)
    return Found(
        cluster=_cluster(labels),
        is_of_dask=metric.startswith(OF_DASK),
        instance=instance,
        series=Series(metric, own, worker, type),
        shown=shown,
    )


def _cluster(labels: dict[str, str]) -> str:
    name = next((labels[label] for label in OF_CLUSTER if labels.get(label)), "")
    return f"{labels[NAMESPACE]}/{name}" if name and labels.get(NAMESPACE) else name
