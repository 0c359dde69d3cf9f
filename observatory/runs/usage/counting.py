"""Counts what clusters and runs used on each day: `Usage` is kept, so that pages add up few rows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import psycopg
from django.db.models import Exists, F, Max, OuterRef, Q
from django.utils.timezone import now

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.replay.windows.sums import sums
from observatory.runs.batch_jobs.kept import USAGE, usage_in_window
from observatory.runs.errors.counting import count_errors_of_run
from observatory.runs.models import Run, Usage
from observatory.runs.refresh import end_of
from observatory.runs.usage.prices import amounts_of
from observatory.store.connection import read_connection
from observatory.store.queries.extents import Extent, extents
from observatory.store.queries.sums.prefix_sums import PREFIX_SUMS
from observatory.store.queries.windows.totals import count_errors
from observatory.store.queries.windows.workers.existence import worker_existence
from observatory.store.times import from_seconds, to_microseconds
from observatory.wire.records import Action

DAY = timedelta(days=1)
LATE = timedelta(minutes=10)
"""after the end of a day in which records of it still arrive"""
RECENT = timedelta(days=1)
"""clusters that ended within this time are counted again when there are new records of them"""
MOST_WINDOWS = 400
"""days of clusters, and as many of runs, that are counted in one round; the rest follows in the next"""
COUNTED_ORIGINS = (Run.Origin.FOUND, Run.Origin.CODE, Run.Origin.IMPORTED)
"""Runs that are cut by hand lie over these."""

Window = tuple[datetime, datetime]


def count_clusters() -> int:
    """Counts the days of clusters that have new records; returns their number."""
    of_all = Usage.objects.filter(cluster=OuterRef("pk"), run=None)
    open_ended = Q(ended=None) | Q(ended__gt=now() - RECENT) | ~Exists(of_all)
    clusters = Cluster.objects.filter(open_ended, project__is_own=False).order_by("-started")
    with_until = clusters.annotate(counted_until=Max("usage__until", filter=Q(usage__run=None)))
    known = {key: times for key, *times in with_until.values_list("pk", "ended", "counted_until")}
    stored = extents(known)
    # clusters without news, of which there may be a thousand, cost these two statements together
    news = {
        key: counted_until
        for key, (ended, counted_until) in known.items()
        if key in stored and (counted_until is None or counted_until < _end(stored[key], ended))
    }
    counted = 0
    for cluster in clusters.filter(pk__in=news):
        for window in _new_windows(cluster, stored[cluster.pk], news[cluster.pk]):
            _keep(cluster, None, window, count_window(cluster, window))
            counted += 1
            if counted >= MOST_WINDOWS:
                return counted
    return counted


def count_runs() -> int:
    """Counts the days, and the errors, of runs whose figures are newer; returns the number of days."""
    stale = Q(sums_counted=None) | Q(sums_counted__lt=F("counted"))
    runs = Run.objects.filter(stale, origin__in=COUNTED_ORIGINS, counted__isnull=False)
    counted = 0
    for run in runs.select_related("cluster").order_by("-start")[:MOST_WINDOWS]:
        windows = list(days_of(run.start, end_of(run)))
        for window in windows:
            _keep(run.cluster, run, window, _of_run(run, window, is_whole=len(windows) == 1))
        count_errors_of_run(run)
        run.usage.exclude(day__in=[start.date() for start, _ in windows]).delete()
        Run.objects.filter(pk=run.pk).update(sums_counted=run.counted)
        counted += len(windows)
        if counted >= MOST_WINDOWS:
            break
    return counted


def days_of(start: datetime, stop: datetime) -> Iterator[Window]:
    """The parts of [start, stop) on each day (UTC)."""
    while start < stop:
        next_day = midnight(start.astimezone(UTC).date()) + DAY
        yield start, min(stop, next_day)
        start = next_day


def midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def count_window(cluster: Cluster, window: Window) -> dict[str, Any]:
    """The amounts of a window, as fields of Usage. Tasks and their time come from kept sums."""
    start, stop = window
    with read_connection() as connection:
        existence = worker_existence(connection, cluster.pk, start, stop)
        tasks, busy = _computed(connection, cluster, window)
        errors = count_errors(connection, cluster.pk, start, stop)
        of_jobs = usage_in_window(connection, cluster.pk, start, stop)
    return {
        "cluster_seconds": (stop - start).total_seconds(),
        "worker_seconds": existence.worker_seconds,
        "thread_seconds": existence.thread_seconds,
        "memory_seconds": existence.memory_seconds,
        "busy_seconds": busy,
        "tasks": tasks,
        "errors": errors,
        **of_jobs,
    }


def _computed(connection: psycopg.Connection, cluster: Cluster, window: Window) -> tuple[int, float]:
    """The tasks that ended in a window, and the seconds of it in which threads computed."""
    start, stop = map(to_microseconds, window)
    columns = sums(connection, Scope(cluster), PREFIX_SUMS, start, stop).columns
    computing = columns["action"] == int(Action.COMPUTE)
    return int(columns["count"][computing].sum()), float(columns["seconds"][computing].sum())


def _of_run(run: Run, window: Window, is_whole: bool) -> dict[str, Any]:
    """A run within one day has been counted as a whole."""
    figures = run.figures
    if not is_whole or figures.get("worker_seconds") is None:
        return count_window(run.cluster, window)
    start, stop = window
    return {
        "cluster_seconds": (stop - start).total_seconds(),
        **amounts_of(figures),
        "busy_seconds": figures.get("seconds", {}).get(Action.COMPUTE.label, 0.0),
        "tasks": run.tasks,
        "errors": run.errors,
        **((run.contents.get("batch_jobs") or {}).get("usage") or dict.fromkeys(USAGE, 0)),
    }


def _new_windows(cluster: Cluster, extent: Extent, counted_until: datetime | None) -> Iterator[Window]:
    """The days of a cluster from the one that was counted last, up to its end or its newest record."""
    start = from_seconds(extent.first)
    if counted_until is not None:
        start = max(start, midnight((counted_until - LATE).date()))
    yield from days_of(start, _end(extent, cluster.ended))


def _end(extent: Extent, ended: datetime | None) -> datetime:
    """The end of a cluster, or its newest record if that is later."""
    last = from_seconds(extent.last)
    return last if ended is None else max(last, ended)


def _keep(cluster: Cluster, run: Run | None, window: Window, amounts: dict[str, Any]) -> None:
    start, until = window
    Usage.objects.update_or_create(
        cluster=cluster, run=run, day=start.astimezone(UTC).date(), defaults={**amounts, "until": until}
    )
