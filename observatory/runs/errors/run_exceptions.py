"""What ended the code of a run, beside the errors of its tasks."""

from __future__ import annotations

import psycopg

from observatory.runs.models import Run
from observatory.runs.refresh import end_of
from observatory.store.queries.windows.run_exceptions import RunException, exception_of_run

COMPARED = 200
"""characters of two messages"""


def exception_of(connection: psycopg.Connection, run: Run) -> RunException | None:
    """Return the exception that ended the run's code; None where it ended well, or the client told none."""
    if run.code_id is None or run.outcome != Run.Outcome.ERRED:
        return None
    return exception_of_run(connection, run.cluster_id, run.code_id, run.start, end_of(run))


def is_same(exception_type: str, message: str, raised_type: str, raised_message: str) -> bool:
    """Whether the code raised what a task had failed with, as `gather` does.

    A task's message is from the exception's `repr`, in which that of a KeyError has no quotes.
    """
    return exception_type == raised_type and _compared(message) == _compared(raised_message)


def _compared(message: str) -> str:
    return " ".join(message.split()).strip("'\"")[:COMPARED]
