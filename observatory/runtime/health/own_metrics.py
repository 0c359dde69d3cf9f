"""Observatory's own metrics: collectors, queues, stored rows, alerts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import psycopg
import redis
from django.db import DatabaseError
from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from observatory import __version__
from observatory.alerts.evaluation import health
from observatory.base import redis_server
from observatory.clusters.limits.rates import statuses
from observatory.clusters.models import Project
from observatory.collect.agents.metrics import ingested_rows
from observatory.exchange.receivers.health import sent_run_counts
from observatory.runtime.health import archive
from observatory.runtime.health import process_heartbeats as beats
from observatory.runtime.health.agent_metrics import agent_metrics
from observatory.runtime.health.checks import quarantined_batches, ready
from observatory.store.connection import connect
from observatory.store.queries.extents import row_estimates

COUNTERS = {
    "scrapes": "Requests to schedulers and workers.",
    "scrape_failures": "Requests to schedulers and workers that failed.",
    "records_dropped": "Records dropped: too many waited for the database, or it refused them.",
    "batches_refused": "Batches with records that the database refused.",
    "batches_quarantined": "Batches that could not be stored while others could.",
    "write_failures": "Writes that failed.",
}


class Observatory(Collector):
    """Queries Redis and the database at each scrape; metrics of one that does not answer are left out."""

    def collect(self) -> Iterator[Metric]:
        try:
            client = redis_server.connect()
            living = beats.collectors(client)
            waiting = beats.queue_length(client)
            age = beats.beat_age(client)
        except redis.RedisError:
            living, waiting, age = [], None, None
        yield InfoMetricFamily("observatory_build", "The running version.", {"version": __version__})
        yield GaugeMetricFamily("observatory_collectors", "Live collectors.", len(living))
        if waiting is not None:
            yield GaugeMetricFamily("observatory_celery_queue_length", "Waiting Celery tasks.", waiting)
        if age is not None:
            yield GaugeMetricFamily(
                "observatory_celery_beat_age_seconds", "Seconds since Celery's last heartbeat.", age
            )
        yield from component_metrics()
        yield from collector_metrics(living)
        yield from stored_metrics()
        yield from archive_metrics()
        yield from quota_metrics()
        yield from rate_metrics()
        yield from alert_metrics()
        yield from receiver_metrics()
        yield from agent_metrics()


def component_metrics() -> Iterator[Metric]:
    """The checks of /readyz, of which that of the database writes to it."""
    family = GaugeMetricFamily(
        "observatory_ready", "1 if the component works: the database and Redis store.", labels=["component"]
    )
    for result in ready():
        family.add_metric([result.component], float(result.ok))
    yield family
    waiting = GaugeMetricFamily(
        "observatory_quarantined_batches", "Batches that could not be stored.", labels=["host"]
    )
    for host, count in quarantined_batches().items():
        waiting.add_metric([host], count)
    yield waiting


def collector_metrics(living: list[dict[str, Any]]) -> Iterator[Metric]:
    """Of the collectors' heartbeats (observatory.collect.collector.counters)."""
    for name, text in COUNTERS.items():
        family = CounterMetricFamily(f"observatory_collector_{name}", text, labels=["collector"])
        for beat in living:
            family.add_metric([beat["id"]], beat.get(name, 0))
        yield family
    rows = CounterMetricFamily(
        "observatory_rows",
        "Rows stored, by kind and source. Those of agents are counted by each web process.",
        labels=["source", "collector", "kind"],
    )
    for kind, count in ingested_rows().items():
        rows.add_metric(["agent", "", kind], count)
    lag = HistogramMetricFamily(
        "observatory_lag_seconds",
        "From a span's end to its commit, for the oldest of a batch.",
        labels=["collector"],
    )
    queue = GaugeMetricFamily(
        "observatory_collector_queue", "Records waiting to be stored.", labels=["collector"]
    )
    for beat in living:
        for kind, count in beat.get("rows", {}).items():
            rows.add_metric(["collector", beat["id"], kind], count)
        buckets = [(bound, count) for bound, count in beat["lag"]["buckets"].items()]
        lag.add_metric([beat["id"]], buckets, beat["lag"]["sum"])
        queue.add_metric([beat["id"]], beat.get("queue", 0))
    yield rows
    yield lag
    yield queue


def stored_metrics() -> Iterator[Metric]:
    """Estimated numbers of stored rows."""
    family = GaugeMetricFamily("observatory_stored_rows", "Stored rows, estimated.", labels=["table"])
    try:
        with connect() as connection:
            for table, count in row_estimates(connection).items():
                family.add_metric([table], count)
    except psycopg.Error:
        return
    yield family


def archive_metrics() -> Iterator[Metric]:
    """What is in the archive and what waits for it."""
    try:
        found = archive.progress()
    except psycopg.Error:
        return
    clusters = GaugeMetricFamily("observatory_archive_clusters", "Clusters that ended.", labels=["state"])
    clusters.add_metric(["archived"], found.archived)
    clusters.add_metric(["waiting"], found.waiting)
    yield clusters
    yield GaugeMetricFamily("observatory_archive_files", "Files in the archive.", found.files)
    yield GaugeMetricFamily("observatory_archive_rows", "Rows in the archive.", found.rows)
    yield GaugeMetricFamily("observatory_archive_bytes", "Bytes in the archive.", found.bytes)
    yield GaugeMetricFamily(
        "observatory_archive_leftovers", "Files that are written now, or are to be removed.", found.leftovers
    )
    yield GaugeMetricFamily(
        "observatory_archive_removed_rows", "Archived rows that left their tables.", found.removed
    )


def quota_metrics() -> Iterator[Metric]:
    """What projects with a quota store and may store."""
    stored = GaugeMetricFamily(
        "observatory_project_stored_bytes", "Stored of a project with a quota.", labels=["project"]
    )
    quota = GaugeMetricFamily(
        "observatory_project_quota_bytes", "Most that a project may store.", labels=["project"]
    )
    try:
        for project in Project.objects.all():
            if project.quota_bytes is not None and project.stored_bytes is not None:
                stored.add_metric([project.slug], project.stored_bytes)
                quota.add_metric([project.slug], project.quota_bytes)
    except DatabaseError:
        return
    yield stored
    yield quota


def rate_metrics() -> Iterator[Metric]:
    """What projects with a rate took of it in this window, and how much was refused."""
    labels = ["project", "rate"]
    used = GaugeMetricFamily(
        "observatory_project_rate_used", "Share of a rate, in its window.", labels=labels
    )
    refused = GaugeMetricFamily(
        "observatory_project_rate_refused", "Refused in this window and the one before.", labels=labels
    )
    try:
        for project in Project.objects.all():
            for status in statuses(project):
                used.add_metric([project.slug, status.rate.name], status.used / status.limit)
                refused.add_metric([project.slug, status.rate.name], status.refused)
    except DatabaseError:
        return
    yield used
    yield refused


def alert_metrics() -> Iterator[Metric]:
    """Lag of the evaluation, open alerts, deliveries."""
    lag = GaugeMetricFamily(
        "observatory_alerts_lag_seconds", "Seconds by which the evaluation is behind the data, at most."
    )
    alerts = GaugeMetricFamily("observatory_alerts", "Open alerts.", labels=["state"])
    deliveries = GaugeMetricFamily("observatory_deliveries", "Notifications, by state.", labels=["state"])
    try:
        lag.add_metric([], health.lag(time.time()))
        for state, count in health.open_alert_counts().items():
            alerts.add_metric([state], count)
        for state, count in health.delivery_counts().items():
            deliveries.add_metric([state], count)
    except DatabaseError:
        return
    yield lag
    yield alerts
    yield deliveries


def receiver_metrics() -> Iterator[Metric]:
    """Runs that are sent to receivers."""
    runs = GaugeMetricFamily("observatory_sent_runs", "Runs for receivers, by state.", labels=["state"])
    try:
        for state, count in sent_run_counts().items():
            runs.add_metric([state], count)
    except DatabaseError:
        return
    yield runs


registry = CollectorRegistry()
registry.register(Observatory())
