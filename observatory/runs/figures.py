"""The figures of runs, counted from the store and kept with them."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from django.utils.timezone import now

from observatory.runs.discovery.finding import AN_INSTANT
from observatory.runs.discovery.naming import name_of
from observatory.runs.models import Run
from observatory.store.connection import read_connection
from observatory.store.queries.activity import main_prefixes, submitted_code
from observatory.store.queries.extents import extents
from observatory.store.queries.window_totals import window_totals
from observatory.store.times import from_seconds

NAMED = 3
"""prefixes that a name can be made of, and one more"""


def count(run: Run) -> None:
    """Counts the figures of a run, up to now where it goes on, and saves them.

    One that ended without errors otherwise ended with them, where tasks failed.

    Raises psycopg.Error without a database.
    """
    with read_connection() as connection:
        found = window_totals(connection, run.cluster_id, run.start, end_of(run))
    run.tasks, run.errors, run.figures = found.tasks, found.errors, asdict(found)
    run.counted = now()
    if not run.is_open and run.outcome in (Run.Outcome.RUNNING, Run.Outcome.FINISHED):
        run.outcome = Run.Outcome.ERRED if found.errors else Run.Outcome.FINISHED
    run.save(update_fields=["tasks", "errors", "figures", "counted", "outcome"])


def name(run: Run) -> None:
    """Names a run that was found, unless somebody has given it another name since."""
    if run.origin != Run.Origin.FOUND or run.name != run.found_name:
        return
    stop = end_of(run)
    with read_connection() as connection:
        code = submitted_code(connection, run.cluster_id, run.start, stop)
        prefixes = main_prefixes(connection, run.cluster_id, run.start, stop, NAMED)
    found = name_of(code, *prefixes)
    if Run.objects.filter(pk=run.pk, name=run.name).update(name=found, found_name=found):
        run.name = run.found_name = found


def end_of(run: Run) -> datetime:
    """The run's stop; of one that goes on the newest that the store has of its cluster."""
    if run.stop is not None:
        return run.stop
    extent = extents([run.cluster_id]).get(run.cluster_id)
    return max(from_seconds(extent.last if extent else 0), run.start + AN_INSTANT)
