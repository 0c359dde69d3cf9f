"""The metrics that rules can use: Observatory's own, and those that clusters have reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import QuerySet

from observatory.alerts.rules.scope import is_own_metric
from observatory.alerts.rules.units import unit_of_metric
from observatory.alerts.silences.matchers import Matcher, match_all
from observatory.clusters.models import Cluster, MetricHelp
from observatory.store.connection import read_connection
from observatory.store.queries.alerts import known_metrics as store
from observatory.store.queries.alerts.known_metrics import RecentBin, SeenSeries
from observatory.wire.metrics import GAUGE, METRICS, OBSERVATORY_METRICS
from observatory.wire.records import MetricType

MAX_CLUSTERS = 100
"""newest clusters whose metrics are listed"""
MAX_EXAMPLES = 3
"""clusters from which the labels of a metric are read"""
MAX_LABELS, MAX_VALUES = 20, 50
BINS = 60
MAX_SERIES = 100
"""series that a sparkline summarizes"""


@dataclass(frozen=True, slots=True)
class KnownMetric:
    name: str
    type: MetricType
    help: str
    unit: str
    """as `units.unit_of_metric` returns it"""
    of_workers: bool
    """some of its series belong to workers"""
    of_cluster: bool
    """some of its series belong to the scheduler or the cluster"""
    labels: Mapping[str, tuple[str, ...]]
    """some of the values that each label has had"""


@dataclass(frozen=True, slots=True)
class Recent:
    """Recent values of a metric over its series."""

    bins: list[RecentBin]
    series: int
    """number of series in the bins, at most MAX_SERIES"""
    is_rate: bool
    """the bins hold a counter's rate per second"""


def known_metrics(projects: Iterable[int] | None = None) -> list[KnownMetric]:
    """The metrics of the agent and of the newest clusters of the projects, sorted by name.

    Without projects: those of all, and Observatory's own.
    """
    clusters = list(_newest(projects)[:MAX_CLUSTERS])
    with read_connection() as connection:
        examples: dict[str, list[int]] = {}
        found = store.metric_names(connection, clusters)
        newness = {cluster: place for place, cluster in enumerate(clusters)}
        for cluster, name in sorted(found, key=lambda pair: newness[pair[0]]):
            if len(with_metric := examples.setdefault(name, [])) < MAX_EXAMPLES:
                with_metric.append(cluster)
        pairs = [(cluster, name) for name, with_metric in examples.items() for cluster in with_metric]
        seen = store.seen_series(connection, pairs)
    names = set(examples) | set(OBSERVATORY_METRICS)
    return _metrics({name for name in names if projects is None or not is_own_metric(name)}, seen)


def known_metric(name: str, projects: Iterable[int] | None = None) -> KnownMetric | None:
    """None if no cluster of the projects has reported the metric and it is neither the agent's nor Dask's.

    Without projects all are asked, and Observatory's own metrics are known.
    """
    if projects is not None and is_own_metric(name):
        return None
    with read_connection() as connection:
        clusters = store.clusters_with(connection, list(_newest(projects)), name)[:MAX_EXAMPLES]
        seen = store.seen_series(connection, [(cluster, name) for cluster in clusters])
    if not seen and name not in METRICS:
        return None
    return _metrics({name}, seen)[0]


def recent(
    metric: str, matchers: Sequence[Matcher], clusters: Sequence[int], seconds: float = 3600
) -> Recent:
    """The values of a metric in the last `seconds` of these clusters, in BINS bins."""
    with read_connection() as connection:
        stop = store.last_time(connection, clusters)
        of_metric = store.series_of(connection, clusters, metric, MAX_SERIES * 20)
        series = [id for id, labels, worker in of_metric if match_all(matchers, _labels(labels, worker))]
        chosen = series[:: -(-len(series) // MAX_SERIES)] if series else []
        bins = []
        if stop is not None and chosen:
            start, after = stop - timedelta(seconds=seconds), stop + timedelta(microseconds=1)
            bins = store.recent_bins(connection, clusters, chosen, start, after, BINS)
    known = known_metric(metric)
    return Recent(bins, len(chosen), known is not None and known.type is MetricType.COUNTER)


def _newest(projects: Iterable[int] | None) -> QuerySet[Cluster, int]:
    clusters = Cluster.objects.order_by("-last_seen", "-pk")
    if projects is not None:
        clusters = clusters.filter(project__in=list(projects))
    return clusters.values_list("pk", flat=True)


def _metrics(names: Iterable[str], seen: Iterable[SeenSeries]) -> list[KnownMetric]:
    by_name: dict[str, list[SeenSeries]] = {name: [] for name in names}
    for series in seen:
        by_name[series.metric].append(series)
    helps = dict(MetricHelp.objects.filter(name__in=by_name).values_list("name", "help"))
    return [_metric(name, helps.get(name, ""), by_name[name]) for name in sorted(by_name)]


def _metric(name: str, help: str, seen: Sequence[SeenSeries]) -> KnownMetric:
    declared = METRICS.get(name)
    type = MetricType(seen[0].type) if seen else MetricType.UNKNOWN
    if type is MetricType.UNKNOWN:
        type = declared.type if declared else GAUGE
    of_workers, of_cluster = (declared.of_workers, not declared.of_workers) if declared else (False, False)
    return KnownMetric(
        name=name,
        type=type,
        help=declared.help if declared else help,
        unit=unit_of_metric(name),
        of_workers=of_workers or any(series.worker is not None for series in seen),
        of_cluster=of_cluster or any(series.worker is None for series in seen),
        labels=_values(declared.labels if declared else {}, seen),
    )


def _values(
    declared: Mapping[str, tuple[str, ...]], seen: Iterable[SeenSeries]
) -> dict[str, tuple[str, ...]]:
    values: dict[str, dict[str, None]] = {label: dict.fromkeys(known) for label, known in declared.items()}
    for series in seen:
        for label, value in _labels(series.labels, series.worker).items():
            if label in values or len(values) < MAX_LABELS:
                values.setdefault(label, {})
                if len(values[label]) < MAX_VALUES:
                    values[label][value] = None
    return {label: tuple(sorted(known)) for label, known in sorted(values.items())}


def _labels(labels: Mapping[str, str], worker: str | None) -> dict[str, str]:
    return {**labels, "worker": worker} if worker is not None else dict(labels)
