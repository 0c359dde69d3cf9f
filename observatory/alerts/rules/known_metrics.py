"""Which metrics there are to make rules of: those that were seen, and ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import QuerySet

from observatory.alerts.rules.metric_help import DESCRIBED, OURS, Described
from observatory.alerts.rules.units import unit_of_metric
from observatory.alerts.silences.matchers import Matcher, match_all
from observatory.clusters.models import Cluster, MetricHelp
from observatory.store.connection import read_connection
from observatory.store.queries import known_metrics as store
from observatory.store.queries.known_metrics import RecentBin, SeenSeries
from observatory.wire.records import MetricType

MOST_CLUSTERS = 100
"""newest clusters whose metrics are offered"""
MOST_EXAMPLES = 3
"""clusters that a metric's labels are taken of"""
MOST_LABELS, MOST_VALUES = 20, 50
BINS = 60
MOST_SERIES = 100
"""that a small chart sums up"""
UNITS = {
    "bytes/s": "bytes per second",
    "bytes": "bytes",
    "seconds": "seconds",
    "ratio": "ratio",
    "percent": "percent",
}
"""how those of unit_of_metric are spelled out"""


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    type: MetricType
    help: str
    unit: str
    """one of UNITS, or "" """
    of_workers: bool
    """some of its series are of workers"""
    of_cluster: bool
    """some are of the scheduler or the cluster"""
    labels: Mapping[str, tuple[str, ...]]
    """values that were seen, some of them"""


@dataclass(frozen=True, slots=True)
class Recent:
    """What a metric was lately, over its series."""

    bins: list[RecentBin]
    series: int
    """how many were summed up, MOST_SERIES at most"""
    is_rate: bool
    """of a counter: per second"""


def known_metrics(projects: Iterable[int] | None = None) -> list[Metric]:
    """The metrics of the newest clusters (None: of all projects) and ours, sorted by name."""
    clusters = list(_newest(projects)[:MOST_CLUSTERS])
    with read_connection() as connection:
        examples: dict[str, list[int]] = {}
        found = store.metric_names(connection, clusters)
        newness = {cluster: place for place, cluster in enumerate(clusters)}
        for cluster, name in sorted(found, key=lambda pair: newness[pair[0]]):
            if len(with_it := examples.setdefault(name, [])) < MOST_EXAMPLES:
                with_it.append(cluster)
        pairs = [(cluster, name) for name, with_it in examples.items() for cluster in with_it]
        seen = store.seen_series(connection, pairs)
    return _metrics(set(examples) | set(OURS), seen)


def known_metric(name: str) -> Metric | None:
    """None: no cluster ever had it, and it isn't ours or Dask's."""
    with read_connection() as connection:
        clusters = store.clusters_with(connection, list(_newest(None)), name)[:MOST_EXAMPLES]
        seen = store.seen_series(connection, [(cluster, name) for cluster in clusters])
    if not seen and name not in DESCRIBED:
        return None
    return _metrics({name}, seen)[0]


def recent(
    metric: str, matchers: Sequence[Matcher], clusters: Sequence[int], seconds: float = 3600
) -> Recent:
    """What the metric was in the last `seconds` of these clusters, in BINS pieces."""
    with read_connection() as connection:
        stop = store.last_time(connection, clusters)
        of_metric = store.series_of(connection, clusters, metric, MOST_SERIES * 20)
        series = [id for id, labels, worker in of_metric if match_all(matchers, _labels(labels, worker))]
        chosen = series[:: -(-len(series) // MOST_SERIES)] if series else []
        bins = []
        if stop is not None and chosen:
            start, after = stop - timedelta(seconds=seconds), stop + timedelta(microseconds=1)
            bins = store.recent_bins(connection, chosen, start, after, BINS)
    known = known_metric(metric)
    return Recent(bins, len(chosen), known is not None and known.type is MetricType.COUNTER)


def unit_of(name: str) -> str:
    """Spelled out; "" where the name's ending tells none of UNITS."""
    return UNITS.get(unit_of_metric(name), "")


def _newest(projects: Iterable[int] | None) -> QuerySet[Cluster, int]:
    clusters = Cluster.objects.order_by("-last_seen", "-pk")
    if projects is not None:
        clusters = clusters.filter(project__in=list(projects))
    return clusters.values_list("pk", flat=True)


def _metrics(names: Iterable[str], seen: Iterable[SeenSeries]) -> list[Metric]:
    by_name: dict[str, list[SeenSeries]] = {name: [] for name in names}
    for series in seen:
        by_name[series.metric].append(series)
    helps = dict(MetricHelp.objects.filter(name__in=by_name).values_list("name", "help"))
    return [_metric(name, helps.get(name, ""), by_name[name]) for name in sorted(by_name)]


def _metric(name: str, help: str, seen: Sequence[SeenSeries]) -> Metric:
    described = DESCRIBED.get(name, Described(help))
    type = MetricType(seen[0].type) if seen else described.type
    return Metric(
        name=name,
        type=type if type is not MetricType.UNKNOWN else described.type,
        help=described.help,
        unit=unit_of(name),
        of_workers=described.of_workers or any(series.worker is not None for series in seen),
        of_cluster=described.of_cluster or any(series.worker is None for series in seen),
        labels=_values(described, seen),
    )


def _values(described: Described, seen: Iterable[SeenSeries]) -> dict[str, tuple[str, ...]]:
    values: dict[str, dict[str, None]] = {
        label: dict.fromkeys(known) for label, known in described.labels.items()
    }
    for series in seen:
        for label, value in _labels(series.labels, series.worker).items():
            if label in values or len(values) < MOST_LABELS:
                values.setdefault(label, {})
                if len(values[label]) < MOST_VALUES:
                    values[label][value] = None
    return {label: tuple(sorted(known)) for label, known in sorted(values.items())}


def _labels(labels: Mapping[str, str], worker: str | None) -> dict[str, str]:
    return {**labels, "worker": worker} if worker is not None else dict(labels)
