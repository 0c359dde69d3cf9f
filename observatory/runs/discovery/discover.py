"""Finds runs: intervals in which a cluster was never idle for as long as its project's `run_idle_seconds`.

Activity is made of spans and of tasks' errors. Spans arrive in the order of their ends, so each search reads
only the spans that ended since the last one, and a few before. New activity extends a run that it overlaps or
follows within the idle time; activity that overlaps several runs joins them. Activity near a run that was
opened from code or imported belongs to that run. Runs that a user has named, tagged, pinned or shared are
extended, but never renamed, joined or removed.
docs/runs.md describes this for users.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import psycopg
from django.db.models import Q

from observatory.clusters.end_reasons import CLOSED
from observatory.clusters.models import Cluster
from observatory.runs.models import Run, RunDiscovery
from observatory.store.queries.extents import SETTLING, Extent
from observatory.store.queries.progress import agent_since
from observatory.store.queries.state import last_samples
from observatory.store.queries.windows.activity import (
    ActiveInterval,
    active_intervals,
    last_client_left,
    work_since,
)
from observatory.store.times import to_microseconds
from observatory.wire.records import UNFINISHED_STATES

LATE = timedelta(seconds=SETTLING)
MARGIN = timedelta(seconds=1)
"""activity this close to a run from code or an import belongs to that run"""
SHORTEST_RUN = timedelta(microseconds=1)
NOT_FOUND = (Run.Origin.CODE, Run.Origin.IMPORTED)
TASKS, TOTALS = ("observatory_cluster_tasks",), ("observatory_cluster_tasks_finished_total",)
MESSAGE_DELAY = timedelta(seconds=1)
"""how much later the event stream can tell that a client left"""
LONGEST_CLOSING = 600.0
"""seconds between the last client's leaving and the end of its cluster that are looked at"""
STALE = 10.0
"""seconds, or polling intervals if those are longer: older task counts are ignored"""


def discover_runs(
    connection: psycopg.Connection, cluster: Cluster, discovery: RunDiscovery, extent: Extent
) -> None:
    """Finds, extends and ends the runs of a cluster up to its `extent`.

    Saves `discovery`, which the caller's transaction has locked.
    """
    idle = timedelta(seconds=cluster.project.run_idle_seconds)
    seconds: list[ActiveInterval] = []
    if extent.records != discovery.records:
        seconds = active_intervals(
            connection, cluster.pk, discovery.looked - LATE if discovery.looked else None
        )
    found = FoundRuns(cluster, discovery, min((second.start for second in seconds), default=None), idle)
    for interval in merge_intervals(_without_other_runs(cluster, seconds), idle):
        found.add(interval)
    if found.changed or found.open:
        worked = _last_work(connection, cluster, extent)
        outcome = _outcome(cluster, extent, found.last, idle, worked)
        if outcome == Run.Outcome.FINISHED and _is_end_unseen(connection, cluster):
            outcome = Run.Outcome.UNSEEN
        found.save(outcome, worked)
    _end_other_runs(cluster)
    if seconds:
        discovery.looked = max(
            [second.stop for second in seconds] + ([discovery.looked] if discovery.looked else [])
        )
    discovery.records = extent.records
    discovery.save()


def merge_intervals(seconds: Iterable[ActiveInterval], idle: timedelta) -> list[ActiveInterval]:
    """Joins intervals with pauses of at most `idle` between them; `seconds` are sorted by start."""
    found: list[ActiveInterval] = []
    for second in seconds:
        if found and second.start - found[-1].stop <= idle:
            found[-1] = ActiveInterval(found[-1].start, max(found[-1].stop, second.stop))
        else:
            found.append(second)
    return found


def drop_found_runs(run: Run) -> None:
    """Removes found runs within the window of a run from code, unless a user has changed them."""
    found = run.cluster.runs.filter(origin=Run.Origin.FOUND, start__gte=run.start - MARGIN)
    if run.stop is not None:
        found = found.filter(stop__lte=run.stop + MARGIN)
    for other in found:
        if not _is_changed_by_user(other):
            other.delete()


class FoundRuns:
    """The recently found runs of a cluster, changed by new activity.

    Here an open run has a stop, too: the end of its last activity, or when tasks were last in processing.
    """

    def __init__(
        self, cluster: Cluster, discovery: RunDiscovery, since: datetime | None, idle: timedelta
    ) -> None:
        self.cluster = cluster
        self.discovery = discovery
        self.idle = idle
        recent = Q(stop=None) if since is None else Q(stop=None) | Q(stop__gte=since - idle)
        self.runs = list(cluster.runs.filter(recent, origin=Run.Origin.FOUND).order_by("start"))
        self.open = [run for run in self.runs if run.is_open]
        for run in self.open:
            run.stop = max(discovery.busy or run.start, run.start + SHORTEST_RUN)
        self.changed: list[Run] = []

    @property
    def last(self) -> Run | None:
        return max(self.runs, key=_stop, default=None)

    def add(self, interval: ActiveInterval) -> None:
        """Extends the run that the interval belongs to, or makes a new run."""
        near = [
            run
            for run in self.runs
            if run.start <= interval.stop + self.idle and _stop(run) >= interval.start - self.idle
        ]
        if near:
            self._extend(near, interval)
        elif self.discovery.looked is None or interval.stop > self.discovery.looked:
            stop = max(interval.stop, interval.start + SHORTEST_RUN)
            self.runs.append(
                run := Run(cluster=self.cluster, origin=Run.Origin.FOUND, start=interval.start, stop=stop)
            )
            self.changed.append(run)
        # otherwise an earlier search made a run of it, which a user deleted

    def _extend(self, near: list[Run], interval: ActiveInterval) -> None:
        changed = [run for run in near if len(near) > 1 and _is_changed_by_user(run)]
        run = changed[-1] if changed else near[0]
        joined = [other for other in near if other is not run and other not in changed]
        start = min(interval.start, run.start, *(other.start for other in joined))
        stop = max(interval.stop, _stop(run), *(_stop(other) for other in joined))
        for other in joined:
            self.runs.remove(other)
            if other.pk is not None:
                other.delete()
        if (start, stop) != (run.start, run.stop):
            run.start, run.stop = start, stop
            if run not in self.changed:
                self.changed.append(run)

    def save(self, outcome: Run.Outcome | None, worked: datetime | None) -> None:
        """Saves what changed. Without an outcome, the last run stays open.

        `worked`: when tasks were last in processing, if they still are.
        """
        last = self.last
        for run in self.runs:
            if run is last and outcome is None:
                self.discovery.busy = max(_stop(run), worked) if worked else run.stop
                run.stop = None
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
    cluster: Cluster, extent: Extent, last: Run | None, idle: timedelta, worked: datetime | None
) -> Run.Outcome | None:
    """The outcome of the last run; None while it is open: active lately, or with tasks in processing."""
    if last is None:
        return None
    is_idle = extent.committed - _stop(last).timestamp() > idle.total_seconds()
    if cluster.is_live:
        return Run.Outcome.FINISHED if is_idle and worked is None else None
    return Run.Outcome.FINISHED if worked is None else _outcome_with_cluster(cluster)


def _outcome_with_cluster(cluster: Cluster) -> Run.Outcome:
    """The outcome of a run that had not ended when its cluster did."""
    if cluster.end_reason == CLOSED:
        return Run.Outcome.FINISHED
    return Run.Outcome.UNSEEN if cluster.is_unobserved else Run.Outcome.LOST


def _last_work(connection: psycopg.Connection, cluster: Cluster, extent: Extent) -> datetime | None:
    """As `last_work`, but for tasks that belong to an open run from code."""
    has_other_run = cluster.runs.filter(origin__in=NOT_FOUND, stop=None).exists()
    return None if has_other_run else last_work(connection, cluster, extent)


def last_work(connection: psycopg.Connection, cluster: Cluster, extent: Extent) -> datetime | None:
    """When the cluster last reported, if tasks were in processing then.

    What is recorded after its end, as that its agent is silent, is no report of it.
    """
    stale = STALE * max(1.0, cluster.identity_interval)
    reported = extent.last
    if cluster.ended is not None:
        reported = min(reported, (cluster.ended + MARGIN).timestamp())
    counts = last_samples(connection, cluster.pk, TASKS, round(reported * 1e6), stale)
    processing = [count for count in counts if count.labels.get("state") == "processing" and count.value > 0]
    return max((count.time for count in processing), default=None)


def _is_end_unseen(connection: psycopg.Connection, cluster: Cluster) -> bool:
    """Whether what became of the last tasks of an ended cluster without an agent is not known.

    A stock scheduler tells of spans alone, which tasks that failed don't have. So tasks that were unfinished
    when the scheduler was last asked, or submitted after that, have an unknown end unless a span ended it.
    """
    if cluster.ended is None or cluster.end_reason == CLOSED or agent_since(connection, cluster.pk):
        return False
    stale = timedelta(seconds=STALE * max(1.0, cluster.identity_interval))
    last = _last_reported(connection, cluster, cluster.ended + stale)
    counts = last_samples(connection, cluster.pk, TASKS, to_microseconds(last), 2 * stale.total_seconds())
    asked = max((count.time for count in counts), default=cluster.started)
    unfinished = sum(count.value for count in counts if count.labels.get("state") in UNFINISHED_STATES)
    computed, is_submitted = work_since(connection, cluster.pk, asked)
    return is_submitted or computed < unfinished


def _last_reported(connection: psycopg.Connection, cluster: Cluster, end: datetime) -> datetime:
    """Return until when the recording tells which tasks failed.

    The scheduler forgets the tasks of a client that leaves: counts after that don't have its failures. Its
    metrics go on counting them, so if they were read after the last client left, all is known until `end`.
    """
    left = last_client_left(connection, cluster.pk)
    totals = last_samples(connection, cluster.pk, TOTALS, to_microseconds(end), LONGEST_CLOSING)
    is_counted = left is not None and any(total.time > left for total in totals)
    return end if left is None or is_counted else left - MESSAGE_DELAY


def _without_other_runs(cluster: Cluster, seconds: Sequence[ActiveInterval]) -> list[ActiveInterval]:
    """The intervals that don't touch a run from code or an import."""
    if not seconds:
        return []
    recent = Q(stop=None) | Q(stop__gte=seconds[0].start - MARGIN)
    windows = [
        (start - MARGIN, stop and stop + MARGIN)
        for start, stop in cluster.runs.filter(recent, origin__in=NOT_FOUND).values_list("start", "stop")
    ]
    return [
        second
        for second in seconds
        if not any(start < second.stop and (stop is None or second.start < stop) for start, stop in windows)
    ]


def _end_other_runs(cluster: Cluster) -> None:
    """Ends open runs of other origins when their cluster has ended."""
    if cluster.ended is None:
        return
    for run in cluster.runs.filter(stop=None).exclude(origin=Run.Origin.FOUND):
        run.stop = max(cluster.ended, run.start + SHORTEST_RUN)
        run.outcome = _outcome_with_cluster(cluster)
        run.counted = None
        run.save(update_fields=["stop", "outcome", "counted"])


def _is_changed_by_user(run: Run) -> bool:
    """Whether a user has named, tagged, pinned or shared the run."""
    return bool(run.name != run.found_name or run.tags or run.pinned or run.permalinks.exists())


def _stop(run: Run) -> datetime:
    assert run.stop is not None
    return run.stop
