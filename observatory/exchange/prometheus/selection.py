"""The series that the matchers of a query select, with the labels that Prometheus sees."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import psycopg
from django.contrib.auth.models import User

from observatory.clusters.access import visible_clusters
from observatory.clusters.models import Cluster
from observatory.collect.prometheus.messages_pb2 import LabelMatcher
from observatory.exchange.prometheus.encoding import Labels
from observatory.runs.models import Run
from observatory.store.patterns import PatternError, compiled
from observatory.store.queries.labels import decode_labels
from observatory.store.queries.prometheus import SeriesRow, clusters_within, metrics_of, series_of
from observatory.store.times import from_microseconds, to_microseconds

MOST_CLUSTERS = 1_000
MOST_SERIES = 50_000
LONGEST_PATTERN = 20_000
"""characters: Grafana joins the chosen values of a variable"""
NAME = "__name__"
RUN = "run"
VALID_METRIC = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_]")
Type = LabelMatcher.Type


class TooMuch(Exception):
    """A query selects more than an answer may have. The message says what to do."""


class WrongMatcher(ValueError):
    """Says what is wrong with a matcher."""


class Matchers:
    """The matchers of a query, all of which have to match; a missing label is empty."""

    def __init__(self, matchers: Iterable[LabelMatcher]) -> None:
        """Raises WrongMatcher."""
        self._of: dict[str, list[Callable[[str], bool]]] = {}
        for matcher in matchers:
            self._of.setdefault(matcher.name, []).append(_test_of(matcher))

    def matches(self, label: str, value: str) -> bool:
        return all(test(value) for test in self._of.get(label, ()))

    def match(self, labels: Mapping[str, str]) -> bool:
        return all(self.matches(label, labels.get(label, "")) for label in self._of)


@dataclass(slots=True)
class Selected:
    """A series for Prometheus: those of successive lifetimes of a worker are one, as their labels are.

    Times are microseconds.
    """

    labels: Labels
    ids: list[int] = field(default_factory=list)
    ends: list[int | None] = field(default_factory=list)
    """when the worker, the cluster or the run ended, for each id"""


@dataclass(frozen=True, slots=True)
class ClusterSeries:
    """Series of one cluster in [start, stop] (microseconds)."""

    cluster: int
    start: int
    stop: int
    latest: int
    """until when marks of their ends may lie: the query's stop"""
    series: Sequence[Selected]


def select(
    connection: psycopg.Connection, user: User, matchers: Matchers, start: int, stop: int
) -> list[ClusterSeries]:
    """The series of what `user` may see in [start, stop] (microseconds). Raises TooMuch."""
    clusters = _clusters(user, matchers)
    extents = clusters_within(connection, list(clusters), start, stop)
    _require(len(extents), MOST_CLUSTERS, "clusters", "name a project or a cluster, or a shorter range")
    metrics = [
        metric
        for metric in metrics_of(connection, list(extents))
        if VALID_METRIC.fullmatch(metric) and matchers.matches(NAME, metric)
    ]
    rows = series_of(connection, list(extents), metrics, start, stop, MOST_SERIES + 1)
    _require(len(rows), MOST_SERIES, "series", "name a metric, a cluster or a shorter range")
    own = decode_labels(row.labels for row in rows)
    by_cluster: dict[int, list[SeriesRow]] = {}
    for row in rows:
        by_cluster.setdefault(row.cluster, []).append(row)
    windows, found = [], 0
    for number, of_cluster in by_cluster.items():
        for run, first, last in _stretches(number, matchers, start, stop):
            selected: dict[Labels, Selected] = {}
            for row in of_cluster:
                labels = _labels(row, own[row.labels], clusters[number], run)
                if not matchers.match(labels):
                    continue
                key = tuple(sorted(labels.items()))
                one = selected.setdefault(key, Selected(key))
                one.ids.append(row.id)
                one.ends.append(last if row.ended is None or row.ended > last < stop else row.ended)
            found += len(selected)
            _require(found, MOST_SERIES, "series", "name a metric, a cluster, a run or a shorter range")
            recorded, ended = extents[number]
            if selected:
                chosen = list(selected.values())
                windows.append(ClusterSeries(number, max(first, recorded), min(last, ended), stop, chosen))
    return windows


def _clusters(user: User, matchers: Matchers) -> dict[int, Cluster]:
    return {
        cluster.pk: cluster
        for cluster in visible_clusters(user).iterator()
        if all(matchers.matches(label, value) for label, value in _of_cluster(cluster).items())
    }


def _stretches(cluster: int, matchers: Matchers, start: int, stop: int) -> Iterable[tuple[str, int, int]]:
    """The run ("": none), start and stop: runs are labels only where a query asks for them.

    Otherwise a series would end, and another begin, where a run does.
    """
    if matchers.matches(RUN, ""):
        return [("", start, stop)]
    runs = Run.objects.filter(cluster=cluster, start__lte=from_microseconds(stop)).exclude(
        stop__lt=from_microseconds(start)
    )
    return [
        (
            str(number),
            max(start, to_microseconds(begin)),
            stop if end is None else min(stop, to_microseconds(end)),
        )
        for number, begin, end in runs.order_by("pk").values_list("pk", "start", "stop")
        if matchers.matches(RUN, str(number))
    ]


def _of_cluster(cluster: Cluster) -> dict[str, str]:
    return {
        "project": cluster.project.slug,
        "cluster": cluster.scheduler_id,
        "cluster_name": cluster.name,
    }


def _labels(row: SeriesRow, own: Mapping[str, str], cluster: Cluster, run: str) -> dict[str, str]:
    """Labels of Dask that have the names of ours are exported_…, as in a scrape of Prometheus."""
    ours = {NAME: row.metric, **_of_cluster(cluster), RUN: run, "worker_name": row.worker_name}
    labels = {"instance": row.address or cluster.address}
    for name, value in own.items():
        valid = _valid_label(name)
        labels[f"exported_{valid}" if valid in ours else valid] = str(value)
    return {name: value for name, value in (labels | ours).items() if value}


@lru_cache(10_000)
def _valid_label(name: str) -> str:
    valid = NOT_IN_NAMES.sub("_", name)
    return f"_{valid}" if not valid or valid[0].isdigit() else valid


def _test_of(matcher: LabelMatcher) -> Callable[[str], bool]:
    wanted = matcher.value
    if matcher.type in (Type.EQ, Type.NEQ):
        return lambda value: (value == wanted) == (matcher.type == Type.EQ)
    if matcher.type not in (Type.RE, Type.NRE):
        raise WrongMatcher(f"a matcher of {matcher.name[:100]!r} has the unknown type {matcher.type}")
    try:
        expression = compiled(wanted, LONGEST_PATTERN)
    except PatternError as error:
        raise WrongMatcher(str(error)) from None
    is_wanted = matcher.type == Type.RE
    return lambda value: (expression.fullmatch(value) is not None) == is_wanted


def _require(count: int, most: int, what: str, advice: str) -> None:
    if count > most:
        raise TooMuch(f"the query selects more than {most:,} {what}: {advice}")
