"""What ended the code of a run, beside the errors of its tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import psycopg

from observatory.runs.discovery.client_runs import EXCEPTION
from observatory.runs.errors.places import place_of
from observatory.runs.models import Run
from observatory.runs.refresh import end_of
from observatory.runs.stops import stop_text
from observatory.store.queries.windows.errors.run_exceptions import RunException, exception_of_run

COMPARED = 200
"""characters of two messages"""


def exception_of(connection: psycopg.Connection, run: Run) -> RunException | None:
    """Return the exception that ended the run's code; None where it ended well, or the client told none."""
    is_imported = run.origin == Run.Origin.IMPORTED and EXCEPTION in run.tags
    if run.outcome != Run.Outcome.ERRED or not (run.code_id or is_imported):
        return None
    window = (run.start, end_of(run))
    return exception_of_run(connection, run.cluster_id, run.code_id, run.tags.get(EXCEPTION, ""), *window)


def fields_of(raised: RunException, text: Callable[[str], str] = str) -> dict[str, Any]:
    """What the API says of it (RaisedByCode). `text`: what may be shown of a text."""
    place = place_of(raised.traceback)
    return {
        "type": text(raised.exception_type),
        "message": text(raised.message),
        "function": text(place.function),
        "file": text(place.file),
        "line": place.line,
        "traceback": text(raised.traceback),
    }


def described(raised: Mapping[str, Any]) -> str:
    """Its type, message and place in a line; `raised`: as of fields_of."""
    place = place_in(raised)
    return ": ".join(filter(None, (raised["type"], raised["message"]))) + (f" in {place}" if place else "")


def place_in(raised: Mapping[str, Any]) -> str:
    """The function and line; "" where the traceback has none."""
    return f"{raised['function']} ({raised['file']}:{raised['line']})" if raised["file"] else ""


def sentence_of(exception: str, raised: Mapping[str, Any] | None) -> str:
    """What ended the code of a run, in a sentence; "" for nothing.

    `exception`: its type, or what stopped it (stops.py), as the agent tags a run; `raised`: as of fields_of.
    """
    if raised is not None:
        return f"Its code raised {described(raised)}."
    if not exception:
        return ""
    return stop_text(exception) or f"Its code raised {exception}."


def is_of_task(raised: RunException, kind: dict[str, Any]) -> bool:
    """Whether tasks had failed with it. `kind`: fields of RunError.

    The traceback of what `gather` raises again ends with the task's.
    """
    if kind["exception_type"] == raised.exception_type and kind["place"] == place_of(raised.traceback).key:
        return True
    return is_same(kind["exception_type"], kind["message"], raised.exception_type, raised.message)


def is_same(exception_type: str, message: str, raised_type: str, raised_message: str) -> bool:
    """Whether the code raised what a task had failed with, as `gather` does.

    A task's message is from the exception's `repr`, in which that of a KeyError has no quotes.
    """
    return exception_type == raised_type and _compared(message) == _compared(raised_message)


def _compared(message: str) -> str:
    return " ".join(message.split()).strip("'\"")[:COMPARED]
