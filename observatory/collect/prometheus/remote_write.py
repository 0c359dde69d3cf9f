"""`POST /api/v1/ingest/prometheus`: stores what a Prometheus sends by remote_write 1.0."""

from __future__ import annotations

import hashlib
import logging
import math
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
from cachetools import LRUCache
from django.core.cache import cache
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import Query, Router
from redis.exceptions import RedisError

from observatory.clusters.limits.rates import INGEST, TooFast, take
from observatory.clusters.models import Cluster, Project
from observatory.clusters.tokens import ingest_refusals
from observatory.clusters.tokens.models import IngestRefusal, IngestToken
from observatory.collect.agents import metrics
from observatory.collect.agents.body import BodyError, length_of
from observatory.collect.agents.ingest import Refusal
from observatory.collect.agents.storing import DAY
from observatory.collect.agents.tokens import TokenAuth
from observatory.collect.agents.writers import SHARES, writer
from observatory.collect.collector.clusters import registry
from observatory.collect.collector.clusters.series_limit import SeriesLimit
from observatory.collect.prometheus.body import read_message
from observatory.collect.prometheus.clusters import cluster_of_labels
from observatory.collect.prometheus.messages_pb2 import WriteRequest
from observatory.collect.prometheus.series_of_labels import Found, KnownLabels
from observatory.store.connection import database_error
from observatory.store.ingest.batches.batch import Batch, BatchBuilder
from observatory.store.ingest.publishing.publication import publish_sync
from observatory.store.ingest.refused_rows import is_caused_by_data
from observatory.store.ingest.resumption import known_series
from observatory.store.ingest.source_limits import TooManyInBatch, TooManyNew
from observatory.store.places.shares import Busy
from observatory.store.series.sample_intervals import SampleIntervals
from observatory.wire.records import WorkerGone, WorkerSeen, clean_text
from observatory.wire.workers.departures import DISAPPEARED

log = logging.getLogger(__name__)

LONGEST_BODY = 16 << 20
MOST_SAMPLES = 100_000
"""of a request; Prometheus sends 500 to 10,000"""
MOST_CLUSTERS = 100
"""of a request"""
SERIES = 200_000
"""of one cluster, of metrics of other programs"""
LONGEST_HELP = 500
"""characters of a metric's text"""
RETRY_AFTER = 5
REMEMBERED, LONGEST = 600, 120
"""seconds for which a body that was stored is known, and that one takes to be stored at most"""
SETTLED = 2
"""intervals after which all samples of a time came: Prometheus sends them in several requests"""
BEGUN, STORED = "begun", "stored"
AWAY = "Redis is unavailable: samples that are sent again would be stored twice"
STALE = 0x7FF0_0000_0000_0002

router = Router(tags=["prometheus"])
_labels = KnownLabels()
_limits: LRUCache[int, SeriesLimit] = LRUCache(32 << 20, getsizeof=lambda limit: limit.size)
_limits_lock = threading.Lock()


@dataclass
class _Part:
    """The samples of one cluster."""

    found: list[Found] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


@router.post(
    "/ingest/prometheus",
    auth=TokenAuth(),
    response={204: None, 400: Refusal, 413: Refusal, 415: Refusal, 503: Refusal},
    summary="Prometheus' remote_write 1.0 (protobuf, snappy), with an ingest token",
)
def write(request: HttpRequest, interval: Annotated[float, Query(ge=1, le=3600)] = 60.0) -> HttpResponse:
    """`interval`: seconds between two scrapes of the Prometheus."""
    token: IngestToken = request.auth  # type: ignore[attr-defined]
    try:
        take(INGEST, token.project, length_of(request))
    except TooFast as error:
        return _later(str(error))
    if not SHARES.is_free(token.project_id) and not connection.in_atomic_block:
        connection.close()  # those that wait would keep all of this process' connections from its pages
    try:
        with metrics.DURATION.time(), SHARES.place(token.project_id):
            return _write(request, token, interval)
    except Busy:
        return _later("the project's other batches take its share: send them later")


def _write(request: HttpRequest, token: IngestToken, interval: float) -> HttpResponse:
    key = ""
    try:
        asked, body = read_message(request, WriteRequest, LONGEST_BODY)
        key = f"prometheus-write:{token.pk}:{hashlib.sha256(body).hexdigest()}"
        state = _begin(key)
        if state == STORED:
            return HttpResponse(status=204)
        if state:
            return _later("the same body is being stored")
        parts = _parts(asked)
        if asked.metadata:
            texts = {
                one.metric_family_name: clean_text(" ".join(one.help.split()), LONGEST_HELP)
                for one in asked.metadata
            }
            registry.store_metric_help(
                {name: text for name, text in texts.items() if text and name.isprintable()}
            )
        for name in parts.keys() - _names(key):
            _store(token.project, name, parts[name], interval)
            if len(parts) > 1:
                _note_name(key, name)
        _note(key, STORED, REMEMBERED)
        return HttpResponse(status=204)
    except (TooManyNew, Busy) as error:
        _forget(key)
        return _later(str(error))
    except (BodyError, TooManyInBatch, registry.TooManyClusters) as error:
        _forget(key)
        ingest_refusals.record(
            IngestRefusal.Reason.BATCH, str(error), request.META.get("REMOTE_ADDR", ""), token
        )
        return JsonResponse({"detail": str(error)}, status=getattr(error, "status", 413))
    except Exception as error:
        _forget(key)
        if is_caused_by_data(error):
            return JsonResponse({"detail": str(error).split("\n")[0]}, status=400)
        if database_error(error) is None:
            raise
        log.warning("samples of Prometheus are not stored: %s", " ".join(str(error).split())[:200])
        return _later("the database is unavailable")


def _parts(asked: WriteRequest) -> dict[str, _Part]:
    """The samples by cluster, without those that no label gives to one. Raises BodyError."""
    parts: dict[str, _Part] = {}
    count = 0
    for series in asked.timeseries:
        samples = series.samples
        count += len(samples)
        if count > MOST_SAMPLES:
            raise BodyError(413, f"a request has at most {MOST_SAMPLES:,} samples")
        found = _labels.find(list(series.labels))
        if not found.cluster:
            continue
        part = parts.get(found.cluster)
        if part is None:
            if len(parts) == MOST_CLUSTERS:
                raise BodyError(413, f"a request has samples of at most {MOST_CLUSTERS} clusters")
            part = parts[found.cluster] = _Part()
        for sample in samples:
            part.found.append(found)
            part.times.append(sample.timestamp / 1e3)
            part.values.append(sample.value)
    return parts


def _store(project: Project, name: str, part: _Part, interval: float) -> None:
    """Stores the samples of one cluster. Raises what the writer raises, TooManyClusters and TooManyNew."""
    values = np.array(part.values)
    is_stale = values.view(np.uint64) == STALE
    is_sign = np.array([found.is_of_dask for found in part.found]) & ~is_stale
    times = np.array(part.times)
    first = float(times[is_sign].min() if is_sign.any() else times.min())
    addresses = (found.instance for found in part.found if found.is_of_dask and not found.series.worker)
    cluster = cluster_of_labels(project, name, first, next(addresses, ""), interval, bool(is_sign.any()))
    if cluster is None:
        return
    batch = _batch(cluster, part, is_stale.tolist())
    kept_since = time.time() - project.effective_retention_days * DAY
    limit = replace(registry.source_of(project), earliest=kept_since)
    settled = float(times.max()) - SETTLED * interval
    with writer() as one:
        committed = one.write(replace(batch, limit=limit, committed=settled))
    metrics.count_rows(batch, committed)
    if is_sign.any():
        registry.update_from_agent(cluster, float(times[is_sign].max()), is_last=False)
    status = {**cluster.end, "stream": "agent"}
    publish_sync(committed, status, SampleIntervals(cluster.identity_interval, cluster.metrics_interval))


def _batch(cluster: Cluster, part: _Part, is_stale: list[bool]) -> Batch:
    builder = BatchBuilder(cluster.pk)
    limit = _limit_of(cluster.pk)
    admitted: dict[int, bool] = {}
    """by id() of the series, which `part` keeps"""
    for found, at, value, ended in zip(part.found, part.times, part.values, is_stale, strict=True):
        for series in (found.series, found.shown):
            if series is None:
                continue
            is_admitted = admitted.get(id(series))
            if is_admitted is None:
                is_admitted = admitted[id(series)] = limit.admits(series)
            if is_admitted:
                builder.samples.add(series, at, value)
        if found.is_of_threads and found.instance:
            _add_worker(builder, found, at, value, ended, limit)
    with _limits_lock:
        if limit.size <= _limits.maxsize:
            _limits[cluster.pk] = limit
    return builder.batch


def _add_worker(
    builder: BatchBuilder, found: Found, at: float, threads: float, ended: bool, limit: SeriesLimit
) -> None:
    """The metric of a worker's threads says that there is one, and its mark that it isn't any more."""
    address = found.instance
    if ended:
        builder.gone.append(WorkerGone(address, at, DISAPPEARED))
        limit.forget(address)
    elif math.isfinite(threads):
        labels = dict(found.series.labels)
        host = address.rpartition(":")[0]
        builder.workers.append(WorkerSeen(address, labels.get("pod", address), host, int(threads), 0, at))


def _limit_of(cluster: int) -> SeriesLimit:
    with _limits_lock:
        limit = _limits.get(cluster)
    return limit if limit is not None else SeriesLimit(SERIES, known_series(cluster)[0])


def _begin(key: str) -> str:
    """What is known of a body: Prometheus sends it again, the same to the byte, where no answer arrived."""
    try:
        return "" if cache.add(key, BEGUN, LONGEST) else str(cache.get(key, ""))
    except RedisError:
        return ""


def _names(key: str) -> set[str]:
    """The clusters of a body whose samples are stored already: those of another could not be."""
    try:
        return set(cache.get(f"{key}:names", ()))
    except RedisError:
        return set()


def _note_name(key: str, name: str) -> None:
    try:
        cache.set(f"{key}:names", [*_names(key), name], REMEMBERED)
    except RedisError:
        log.warning(AWAY)


def _note(key: str, state: str, seconds: int) -> None:
    try:
        cache.set(key, state, seconds)
    except RedisError:
        log.warning(AWAY)


def _forget(key: str) -> None:
    try:
        cache.delete(key)
    except RedisError:
        log.warning(AWAY)


def _later(detail: str) -> HttpResponse:
    """503: Prometheus drops what is answered 429, unless it is configured otherwise."""
    metrics.BATCHES.labels("busy").inc()
    answer = JsonResponse({"detail": detail}, status=503)
    answer["Retry-After"] = str(RETRY_AFTER)
    answer._has_been_logged = True  # type: ignore[attr-defined]  # django.utils.log reads it
    return answer
