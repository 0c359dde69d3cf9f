"""Refreshes what is stored with a run: figures and contents of its window, and its found name."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timedelta

import psycopg
from django.db.models import Min
from django.utils.timezone import now

from observatory.replay.state import tasks_until
from observatory.runs.batch_jobs.kept import batch_jobs_of
from observatory.runs.discovery.discover import SHORTEST_RUN
from observatory.runs.discovery.naming import name_of
from observatory.runs.models import Run
from observatory.runs.other_work import other_work_of
from observatory.runs.sharing.scopes import scope_of_run
from observatory.store.connection import read_connection
from observatory.store.late_records import EXTENDED
from observatory.store.queries.extents import extents
from observatory.store.queries.timeline import snapshot
from observatory.store.queries.windows.activity import end_of_begun_tasks, main_prefixes, submitted_code
from observatory.store.queries.windows.contents import (
    MOST_WITH_CODE,
    main_prefix_contents,
    window_computations,
)
from observatory.store.queries.windows.totals import window_totals
from observatory.store.times import from_seconds, to_microseconds
from observatory.wire.client_code.submitted_code import around_calls, code_of_frames, frames_of_code

PREFIXES = 3
"""one more than a name can contain"""
MAIN_PREFIXES = 8
"""stored as contents of a run"""
LINES_AROUND, LONGEST_CODE = 4, 4_000
"""of the code of a computation: lines before and after a line that submitted tasks; characters"""
LATER = timedelta(seconds=EXTENDED)
"""how long after the end of a run from code its last tasks may end: their times are from other processes"""


def refresh_figures(run: Run) -> None:
    """Counts figures and contents of a run and saves them; of an open run, up to now.

    A run that finished, or whose end was not seen, is marked as one with errors if tasks failed in it.

    Raises psycopg.Error without a database.
    """
    begun = now()
    with read_connection() as connection:
        stop = end_of(run)
        window = (run.cluster_id, run.start, stop)
        others = other_work_of(connection, run, stop)
        totals = window_totals(connection, *window, others)
        prefixes = main_prefix_contents(connection, *window, MAIN_PREFIXES, others)
        computations = window_computations(connection, *window, others)
        batch_jobs = batch_jobs_of(connection, *window, is_running=run.is_open)
        progress = None if others else _progress(connection, run, stop)
    run.tasks, run.errors = totals.tasks, totals.errors
    run.figures = asdict(totals) | {"progress": progress, "until": stop.timestamp()}
    run.contents = {
        "prefixes": [asdict(prefix) for prefix in prefixes],
        "computations": [
            {**asdict(computation), "code": _shown_code(computation.code)}
            for computation in computations[:MOST_WITH_CODE]
        ],
        "computation_count": len(computations),
        "batch_jobs": batch_jobs,
    }
    run.counted = begun
    if not run.is_open and run.outcome in (Run.Outcome.RUNNING, Run.Outcome.FINISHED, Run.Outcome.UNSEEN):
        if totals.errors:
            run.outcome = Run.Outcome.ERRED
        elif run.outcome == Run.Outcome.RUNNING:
            run.outcome = Run.Outcome.FINISHED
    run.save(update_fields=["tasks", "errors", "figures", "contents", "counted", "outcome"])


def _shown_code(code: str) -> str:
    """The lines that submitted tasks with a few around each, of files and functions of any length."""
    return code_of_frames(around_calls(frames_of_code(code), LINES_AROUND, LINES_AROUND))[:LONGEST_CODE]


def _progress(connection: psycopg.Connection, run: Run, stop: datetime) -> dict[str, int] | None:
    """The tasks by what became of them, as the page of the run says; with others' work, these are in it."""
    with snapshot(connection):
        return tasks_until(connection, scope_of_run(run), to_microseconds(stop))


def extend_to_last_tasks(run: Run) -> None:
    """Moves the stop of a run after the end of its last tasks, their errors and log lines, and saves it.

    The client ends the run when it has the result. The times of spans are from the workers' clocks, and a
    client can end a run before the scheduler has recorded an error. A task's last line can be some
    milliseconds later than its span.
    """
    if run.origin not in (Run.Origin.CODE, Run.Origin.FOUND) or run.stop is None:
        return
    following = run.cluster.runs.filter(start__gte=run.stop).aggregate(first=Min("start"))["first"]
    limit = min(run.stop + LATER, following) if following else run.stop + LATER
    with read_connection() as connection:
        others = other_work_of(connection, run, limit)
        stop = end_of_begun_tasks(connection, run.cluster_id, run.start, run.stop, limit, others)
    if stop is not None:
        run.stop = stop
        run.save(update_fields=["stop"])


def refresh_name(run: Run) -> None:
    """Names a found run after its code or prefixes, unless a user has renamed it."""
    if run.origin != Run.Origin.FOUND or run.name != run.found_name:
        return
    stop = end_of(run)
    with read_connection() as connection:
        code = submitted_code(connection, run.cluster_id, run.start, stop)
        prefixes = main_prefixes(connection, run.cluster_id, run.start, stop, PREFIXES)
    name = name_of(code, *prefixes)
    if Run.objects.filter(pk=run.pk, name=run.name).update(name=name, found_name=name):
        run.name = run.found_name = name


def end_of(run: Run) -> datetime:
    """The run's stop; of an open run, the time of its cluster's newest record."""
    if run.stop is not None:
        return run.stop
    extent = extents([run.cluster_id]).get(run.cluster_id)
    return max(from_seconds(extent.last if extent else 0), run.start + SHORTEST_RUN)
