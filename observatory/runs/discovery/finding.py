"""Runs that come by themselves: stretches in which a cluster was never idle for as long as its project says.

Spans are told in the order in which they end, so it is enough to look at those that ended since the last
look, and a little before. What is found extends a run that it overlaps or follows within the idle time; one
that overlaps several joins them. A second that touches a run that was opened from code, or imported, belongs
to that. Runs that somebody has named, tagged, pinned or shared are extended, but never renamed, joined to
another or removed. docs/runs.md tells people so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import psycopg
from django.db.models import Q

from observatory.clusters.models import Cluster
from observatory.runs.models import Run, Search
from observatory.store.ingest.extent_update import SETTLING
from observatory.store.queries.activity import ActiveInterval, active_intervals
from observatory.store.queries.extents import Extent
from observatory.store.queries.state import last_samples

LATE = timedelta(seconds=SETTLING)
MARGIN = timedelta(seconds=1)
"""what belongs to a run that was opened from code before and after it"""
AN_INSTANT = timedelta(microseconds=1)
GIVEN = (Run.Origin.CODE, Run.Origin.IMPORTED)
PLAIN_CLOSE = "the scheduler closed"
"""a cluster's end_reason where nothing went wrong (collect/collector/registry.py)"""
TASKS = ("observatory_cluster_tasks",)
STALE = 10.0
"""seconds, or as many intervals of the cluster's, after which a count of tasks says nothing any more"""


def find(connection: psycopg.Connection, cluster: Cluster, search: Search, extent: Extent) -> None:
    """Finds, extends and ends the runs of a cluster, as far as `extent` tells.

    The caller's transaction has locked `search`, which is saved.
    """
    idle = timedelta(seconds=cluster.project.run_idle_seconds)
    seconds: list[ActiveInterval] = []
    if extent.spans != search.spans:
        seconds = active_intervals(connection, cluster.pk, search.looked - LATE if search.looked else None)
    found = Found(cluster, search, min((second.start for second in seconds), default=None), idle)
    for stretch in stretches(_not_given(cluster, seconds), idle):
        found.add(stretch)
    if found.changed or found.open:
        found.settle(_outcome(connection, cluster, extent, found.last, idle))
    _end_given(cluster)
    if seconds:
        search.looked = max([second.stop for second in seconds] + ([search.looked] if search.looked else []))
    search.spans = extent.spans
    search.save()


def stretches(seconds: Iterable[ActiveInterval], idle: timedelta) -> list[ActiveInterval]:
    """What is busy without a pause of more than `idle`; `seconds` are in order of their start."""
    found: list[ActiveInterval] = []
    for second in seconds:
        if found and second.start - found[-1].stop <= idle:
            found[-1] = ActiveInterval(found[-1].start, max(found[-1].stop, second.stop))
        else:
            found.append(second)
    return found


def drop_found_in(run: Run) -> None:
    """Removes what was found in the time of a run before that was told, unless somebody has touched it."""
    found = run.cluster.runs.filter(origin=Run.Origin.FOUND, start__gte=run.start - MARGIN)
    if run.stop is not None:
        found = found.filter(stop__lte=run.stop + MARGIN)
    for other in found:
        if not _is_touched(other):
            other.delete()


class Found:
    """The runs that were found in a cluster lately, and what a look at its timeline makes of them.

    In here each has a stop: that of the one that goes on is the end of its last span.
    """

    def __init__(self, cluster: Cluster, search: Search, since: datetime | None, idle: timedelta) -> None:
        self.cluster = cluster
        self.search = search
        self.idle = idle
        recent = Q(stop=None) if since is None else Q(stop=None) | Q(stop__gte=since - idle)
        self.runs = list(cluster.runs.filter(recent, origin=Run.Origin.FOUND).order_by("start"))
        self.open = [run for run in self.runs if run.is_open]
        for run in self.open:
            run.stop = max(search.busy or run.start, run.start + AN_INSTANT)
        self.changed: list[Run] = []

    @property
    def last(self) -> Run | None:
        return max(self.runs, key=_stop, default=None)

    def add(self, stretch: ActiveInterval) -> None:
        """Extends the run that the stretch belongs to, or makes one of it."""
        near = [
            run
            for run in self.runs
            if run.start <= stretch.stop + self.idle and _stop(run) >= stretch.start - self.idle
        ]
        if near:
            self._extend(near, stretch)
        elif self.search.looked is None or stretch.stop > self.search.looked:
            stop = max(stretch.stop, stretch.start + AN_INSTANT)
            self.runs.append(
                run := Run(cluster=self.cluster, origin=Run.Origin.FOUND, start=stretch.start, stop=stop)
            )
            self.changed.append(run)
        # else it has been looked at, and its run was deleted

    def _extend(self, near: list[Run], stretch: ActiveInterval) -> None:
        touched = [run for run in near if len(near) > 1 and _is_touched(run)]
        run = touched[-1] if touched else near[0]
        joined = [other for other in near if other is not run and other not in touched]
        start = min(stretch.start, run.start, *(other.start for other in joined))
        stop = max(stretch.stop, _stop(run), *(_stop(other) for other in joined))
        for other in joined:
            self.runs.remove(other)
            if other.pk is not None:
                other.delete()
        if (start, stop) != (run.start, run.stop):
            run.start, run.stop = start, stop
            if run not in self.changed:
                self.changed.append(run)

    def settle(self, outcome: Run.Outcome | None) -> None:
        """Saves what changed; the last one goes on where it has no outcome yet."""
        last = self.last
        for run in self.runs:
            if run is last and outcome is None:
                self.search.busy, run.stop = run.stop, None
                run.outcome = Run.Outcome.RUNNING
            elif run in self.changed or run in self.open:
                run.outcome = outcome or Run.Outcome.FINISHED if run is last else Run.Outcome.FINISHED
                run.counted = None
            else:
                continue
            if run.pk is None:
                run.name = run.found_name = "run"
                run.save()
            else:
                run.save(update_fields=["start", "stop", "outcome", "counted"])


def _outcome(
    connection: psycopg.Connection, cluster: Cluster, extent: Extent, last: Run | None, idle: timedelta
) -> Run.Outcome | None:
    """That of the last run; None while it goes on: it was busy lately, or tasks are still being worked on."""
    if last is None:
        return None
    is_idle = extent.committed - _stop(last).timestamp() > idle.total_seconds()
    if cluster.is_live:
        is_others = cluster.runs.filter(origin__in=GIVEN, stop=None).exists()
        works = not is_others and is_working(connection, cluster, extent)
        return Run.Outcome.FINISHED if is_idle and not works else None
    is_lost = cluster.end_reason != PLAIN_CLOSE and is_working(connection, cluster, extent)
    return Run.Outcome.LOST if is_lost else Run.Outcome.FINISHED


def is_working(connection: psycopg.Connection, cluster: Cluster, extent: Extent) -> bool:
    """Whether tasks were processing when the cluster was last heard of."""
    stale = STALE * max(1.0, cluster.identity_interval)
    counts = last_samples(connection, cluster.pk, TASKS, round(extent.last * 1e6), stale)
    return any(count.labels.get("state") == "processing" and count.value > 0 for count in counts)


def _not_given(cluster: Cluster, seconds: Sequence[ActiveInterval]) -> list[ActiveInterval]:
    """Those that don't touch a run that was opened from code, or imported."""
    if not seconds:
        return []
    lately = Q(stop=None) | Q(stop__gte=seconds[0].start - MARGIN)
    given = [
        (start - MARGIN, stop and stop + MARGIN)
        for start, stop in cluster.runs.filter(lately, origin__in=GIVEN).values_list("start", "stop")
    ]
    return [
        second
        for second in seconds
        if not any(start < second.stop and (stop is None or second.start < stop) for start, stop in given)
    ]


def _end_given(cluster: Cluster) -> None:
    """Ends the runs of which nobody said that they ended, with their cluster."""
    if cluster.ended is None:
        return
    for run in cluster.runs.filter(stop=None).exclude(origin=Run.Origin.FOUND):
        run.stop = max(cluster.ended, run.start + AN_INSTANT)
        is_plain = cluster.end_reason == PLAIN_CLOSE
        run.outcome = Run.Outcome.FINISHED if is_plain else Run.Outcome.LOST
        run.counted = None
        run.save(update_fields=["stop", "outcome", "counted"])


def _is_touched(run: Run) -> bool:
    """Whether somebody has made the run theirs."""
    return bool(run.name != run.found_name or run.tags or run.pinned or run.permalinks.exists())


def _stop(run: Run) -> datetime:
    assert run.stop is not None
    return run.stop
