"""Limits and cleaning of the values that client code gives for a run."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any
from uuid import UUID

from observatory.wire.records import clean_text

LONGEST_NAME = 200
LONGEST_TAG = 200
LONGEST_TAG_NAME = 100
MOST_TAGS = 50
LONGEST_USER = 100
LONGEST_CODE = 20_000
LONGEST_MESSAGE, LONGEST_TRACEBACK = 1_000, 20_000
"""of the exception that ended a run's code"""

RUNNING, FINISHED, ERRED = "running", "finished", "erred"
OUTCOMES = (RUNNING, FINISHED, ERRED)
"""the first at its start, the others at its end"""
CLIENT_LEFT, SCHEDULER_CLOSED = "the client went away", "the scheduler closed"
"""in place of the type of an exception: ends of runs that the client did not tell, beside names of signals"""
CODE, OPTIMIZING, SENDING, GATHERING = "code", "optimizing", "sending", "gathering"
WAITING, ACTOR = "waiting", "actor"
ACTIVITIES = (CODE, OPTIMIZING, SENDING, GATHERING, WAITING, ACTOR)
"""of a client while its run is open; the first is whatever is none of the others"""
MOST_ACTIVITIES = 5_000
"""of a run"""
RUNS_OF_GRAPH = "observatory_runs"
"""beside the annotations of a graph: ids of the runs in which it was submitted, outermost first"""
MOST_NESTED = 20
OF_WORKER = "Client-worker-"
"""how ids of the clients begin with which tasks submit tasks"""
READS_RUNS = "reads_runs"
"""in the answer of an agent that reads RUNS_OF_GRAPH"""
FLOW_RUN = "flow_run"
"""tag: the run of a workflow tool in which it was opened"""
TRACE = "trace"
"""tag: the id of the trace of OpenTelemetry in which it was opened"""
TRACE_SPAN = "trace_span"
"""tag: the id of the span of that trace in which it was opened"""
BUNDLE_SUFFIX = ".observatory.zip"
"""ends the names of bundles"""
SERVER = "server"
"""in the answer of an agent: the address of the Observatory that it reports to; earlier ones leave it out"""
METADATA = "observatory"
"""Key of the scheduler's metadata that is set while its agent records runs."""


NOT_RECORDED = "is not recorded by Observatory"
WITHOUT_END = "is recorded by Observatory without its end"
"""what is said of a run or a test, with the reason"""


def page_of_run(server: str, id: str) -> str:
    """The address of the page of a run with the id that client code gave it, "" where no server is known."""
    is_url = server.startswith(("http://", "https://"))
    return f"{server.rstrip('/')}/runs/code/{UUID(id)}/" if is_url else ""


def clean_line(value: Any, limit: int) -> str:
    """Anything as one line that can be shown and stored; "" for nothing."""
    text = "" if value is None else value if isinstance(value, str) else shown(value)
    return clean_text(" ".join(text[: 2 * limit].split()), limit)


def clean_tags(tags: Any) -> dict[str, str]:
    """At most MOST_TAGS texts by name; {} for anything but a mapping."""
    if not isinstance(tags, Mapping):
        return {}
    found = {
        clean_line(name, LONGEST_TAG_NAME): clean_line(value, LONGEST_TAG)
        for name, value in islice(tags.items(), MOST_TAGS)
    }
    return {name: value for name, value in found.items() if name}


def clean_code(code: Any) -> str:
    return _clean_lines(code, LONGEST_CODE)


def clean_traceback(traceback: Any) -> str:
    """Its end, where the exception is."""
    return _clean_lines(
        traceback[-LONGEST_TRACEBACK:] if isinstance(traceback, str) else "", LONGEST_TRACEBACK
    )


def _clean_lines(text: Any, limit: int) -> str:
    return clean_text(text, limit) if isinstance(text, str) else ""


def shown(value: Any) -> str:
    """`str(value)`, or the type's name if that fails."""
    try:
        return str(value)
    except Exception:  # a user's own type
        return f"<{type(value).__name__}>"
