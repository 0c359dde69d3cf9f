"""Interns series: a metric and its labels, of one worker's lifetime or of the scheduler."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from sys import getsizeof
from typing import Any, TypeAlias
from uuid import UUID

import psycopg

from observatory.store.ingest.batches.record_columns import Coded, Times
from observatory.store.ingest.interning.lifetime import Lifetime
from observatory.store.ingest.interning.lifetimes import Workers, all_alive
from observatory.store.ingest.source_limits import SOURCE_LIMITS, Rows, SourceLimit
from observatory.store.series.identity import series_identity
from observatory.store.texts import clean_json, clean_name
from observatory.wire.layers import LAYER_OF_METRIC
from observatory.wire.records import MetricType, Series
from observatory.wire.workers import gpus

LIFETIME = attrgetter("lifetime")
SERIES_SIZE, LABEL_SIZE, FIRST_SIZE = 650, 60, 200
"""bytes of memory beside the texts"""
MOST_REMEMBERED, LONGEST_REMEMBERED = 4_096, 500
"""sets of labels whose JSON is remembered, and the characters of the longest one"""

Labels: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(slots=True, eq=False)
class KnownSeries:
    """A series that the writer knows."""

    series: Series
    lifetime: Lifetime | None
    """None: of the scheduler or the cluster"""
    layer: str | None
    """the series layer that draws it"""
    id: int = 0
    """0 until it is stored"""
    first: int = 0
    """the first of the cluster's series with its metric and labels, whichever worker's or GPU's"""
    time: float = math.nan
    value: float = math.nan
    """the sample before, for a counter's rate; nan when there was none"""

    @property
    def is_counter(self) -> bool:
        return self.series.type is MetricType.COUNTER

    @property
    def identity(self) -> UUID:
        """A hash of metric, labels and worker, the unique key of the table."""
        return series_identity(self.lifetime.id if self.lifetime else 0, self.metric, self.labels)

    @property
    def metric(self) -> str:
        return clean_name(self.series.metric)

    @property
    def labels(self) -> str:
        return text_of(self.series.labels)

    @property
    def shared_labels(self) -> str:
        """The labels but for those of GPUs."""
        return text_of(tuple(label for label in self.series.labels if label[0] not in gpus.LABELS))

    def item(self) -> dict[str, Any]:
        """As docs/architecture/http.md shows a series, but for its interval."""
        return {
            "id": self.id,
            "worker": self.lifetime.id if self.lifetime else None,
            "metric": self.metric,
            "labels": json.loads(self.labels),
        }


class SeriesTable:
    """The interned series of one cluster."""

    def __init__(self, cluster: int) -> None:
        self.cluster = cluster
        self._by_object: dict[int, KnownSeries] = {}
        """by id() of the Series, which is cheaper to look up than its value"""
        self._by_value: dict[Series, KnownSeries] = {}
        self._new: list[KnownSeries] = []
        self._firsts: dict[tuple[str, str], int] = {}
        """by metric and labels but for those of GPUs, of series that layers draw"""
        self.size = 0
        """bytes of memory, by estimate"""

    def find(self, connection: psycopg.Connection, series: Coded, times: Times, workers: Workers) -> Coded:
        """The KnownSeries of each sample. New ones get their ids from `save`."""
        # a KnownSeries keeps its Series: no other object has that id
        known = list(map(self._by_object.get, map(id, series.values)))
        if None not in known:
            lifetimes = set(map(LIFETIME, known)) - {None}
            if all_alive(lifetimes, times):
                return Coded(known, series.codes)
        workers.load(connection, map(clean_name, {one.worker for one in series.values} - {""}))
        rows = zip(series.per_row(), times.tolist(), strict=True)
        return Coded.of_rows([self._find(one, time, workers) for one, time in rows])

    def save(self, connection: psycopg.Connection, limit: SourceLimit | None = None) -> list[KnownSeries]:
        """Stores the new series, whose lifetimes are stored; returns those that are new to the store.

        Raises TooManyNew and TooManyInBatch.
        """
        new, self._new = self._new, []
        by_identity: dict[UUID, list[KnownSeries]] = {}
        for known in new:
            by_identity.setdefault(known.identity, []).append(known)
        ids = self._read(connection, list(by_identity))
        missing = sorted(by_identity.keys() - ids.keys())
        if missing:
            SOURCE_LIMITS.require(limit, Rows.REFERRED, len(missing))
            firsts = [by_identity[identity][0] for identity in missing]
            stored = connection.execute(
                """INSERT INTO series (cluster_id, identity, worker_id, metric, labels, type)
                   SELECT %s, * FROM unnest(%s::uuid[], %s::int[], %s::text[], %s::jsonb[], %s::smallint[])
                   ON CONFLICT (cluster_id, identity) DO NOTHING RETURNING identity, id""",
                [
                    self.cluster,
                    missing,
                    [known.lifetime.id if known.lifetime else None for known in firsts],
                    [known.metric for known in firsts],
                    [known.labels for known in firsts],
                    [int(known.series.type) for known in firsts],
                ],
            )
            ids |= dict(stored.fetchall())
            ids |= self._read(connection, [identity for identity in missing if identity not in ids])
        for identity, same in by_identity.items():
            for known in same:
                known.id = known.first = ids[identity]
        self._find_firsts(connection, [known for known in new if known.layer and known.lifetime])
        return [by_identity[identity][0] for identity in missing]

    def _find_firsts(self, connection: psycopg.Connection, new: list[KnownSeries]) -> None:
        """Sets the first series of each of the new ones, which are stored, of workers, and drawn."""
        kinds = [(known.metric, known.shared_labels) for known in new]
        if missing := sorted(set(kinds) - self._firsts.keys()):
            metrics, labels = zip(*missing, strict=True)
            rows = connection.execute(
                """SELECT place, min(series.id)
                   FROM unnest(%s::text[], %s::jsonb[]) WITH ORDINALITY AS kind(metric, labels, place)
                   JOIN series ON series.metric = kind.metric AND series.labels - %s::text[] = kind.labels
                   WHERE cluster_id = %s AND worker_id IS NOT NULL GROUP BY place""",
                [list(metrics), list(labels), list(gpus.LABELS), self.cluster],
            )
            self._firsts |= {missing[place - 1]: first for place, first in rows}
            self.size += sum(FIRST_SIZE + sum(map(getsizeof, kind)) for kind in missing)
        for known, kind in zip(new, kinds, strict=True):
            known.first = self._firsts.setdefault(kind, known.id)

    def _find(self, series: Series, time: float, workers: Workers) -> KnownSeries:
        lifetime = workers.at(clean_name(series.worker), time) if series.worker else None
        known = self._by_value.get(series)
        if known is None or known.lifetime is not lifetime:
            if known is not None:
                self._by_object.pop(id(known.series), None)
            else:
                self.size += _size_of(series)
            known = self._by_value[series] = KnownSeries(series, lifetime, LAYER_OF_METRIC.get(series.metric))
            self._new.append(known)
        elif known.series is not series:
            self._by_object.pop(id(known.series), None)
            known.series = series
        self._by_object[id(series)] = known
        return known

    def _read(self, connection: psycopg.Connection, identities: list[UUID]) -> dict[UUID, int]:
        if not identities:
            return {}
        query = "SELECT identity, id FROM series WHERE cluster_id = %s AND identity = ANY(%s)"
        return dict(connection.execute(query, [self.cluster, identities]).fetchall())


def text_of(labels: Labels) -> str:
    """Labels as JSON. Most of a new cluster's are those of other clusters, too."""
    is_short = sum(len(name) + len(value) for name, value in labels) <= LONGEST_REMEMBERED
    return _remembered_text_of(labels) if is_short else clean_json(dict(labels))


@lru_cache(maxsize=MOST_REMEMBERED)
def _remembered_text_of(labels: Labels) -> str:
    return clean_json(dict(labels))


def _size_of(series: Series) -> int:
    """Bytes of memory, by estimate."""
    texts = sum(getsizeof(name) + getsizeof(value) + LABEL_SIZE for name, value in series.labels)
    return SERIES_SIZE + getsizeof(series.metric) + getsizeof(series.worker) + texts
