"""Events of Sentry: one for each exception and place in the code that tasks of a run, or its own code, failed
with.

Source: https://develop.sentry.dev/sdk/data-model/event-payloads/.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any

from django.urls import reverse

from observatory.clusters.addresses.public_urls import url_in_message
from observatory.exchange.receivers.otlp.identity import Identity
from observatory.runs.errors.places import FRAME, LIBRARY, LONGEST_TRACEBACK
from observatory.runs.models import Run
from observatory.store.queries.tasks.errors import TaskError
from observatory.store.queries.windows.errors.run_exceptions import RunException
from observatory.wire.client_code.ci import COMMIT

Item = dict[str, Any]

LONGEST_MESSAGE, LONGEST_ARGUMENTS, LONGEST_TAG = 2_000, 2_000, 200
MOST_FRAMES = 100
MOST_EARLIER = 10
"""exceptions that led to another"""
CAUSE = "The above exception was the direct cause of the following exception:"
CONTEXT = "During handling of the above exception, another exception occurred:"
CHAINED = re.compile(f"^({re.escape(CAUSE)}|{re.escape(CONTEXT)})$", re.MULTILINE)
OF_EVENT = {"release": "release", COMMIT: "release", "environment": "environment"}
"""tags of a run that events have a field for; the first of one field counts"""


def event_of_tasks(run: Run, kind: Mapping[str, Any], error: TaskError, with_arguments: bool) -> Item:
    """The event of a kind of errors (as RunError has it) and its last error."""
    level = "warning" if kind["retried"] == kind["count"] else "error"
    tags = {"prefix": error.prefix, "function": error.function}
    event = _event(run, kind, error.time, level, tags, _context(kind, error))
    event["server_name"] = error.worker[:LONGEST_TAG]
    event["exception"] = {"values": exceptions_of(error, is_handled=error.outcome == "retried")}
    if with_arguments and error.arguments:
        event["extra"] = {"arguments": error.arguments[:LONGEST_ARGUMENTS]}
    return event


def event_of_code(run: Run, kind: Mapping[str, Any], raised: RunException) -> Item:
    """The event of what ended the run's own code; `kind` as RunError has it."""
    event = _event(run, kind, raised.time, "error", {"function": kind["function"]}, {})
    event["exception"] = {"values": exceptions_of(raised, is_handled=False)}
    return event


def _event(run: Run, kind: Mapping[str, Any], time: datetime, level: str, tags: Item, context: Item) -> Item:
    identity = Identity(run)
    event: Item = {
        "event_id": _event_id(identity, kind),
        "timestamp": time.timestamp(),
        "platform": "python",
        "logger": "dask",
        "level": level,
        "transaction": run.name[:LONGEST_TAG],
        "fingerprint": ["dask-observatory", kind["exception_type"], kind["place"]],
        "tags": _tags(run, tags),
        "contexts": {
            "trace": {"trace_id": identity.trace.hex(), "span_id": identity.root.hex(), "op": "dask.run"},
            "dask": {"run": run.name, "user": run.user, "url": _url(run), **context},
        },
    }
    for tag, field in OF_EVENT.items():
        if text := str(run.tags.get(tag, "")):
            event.setdefault(field, text[:LONGEST_TAG])
    return event


def _event_id(identity: Identity, kind: Mapping[str, Any]) -> str:
    """The same whenever the run is sent, so that Sentry drops a second one."""
    text = f"{identity.root.hex()} {kind['exception_type']} {kind['place']}"
    return blake2b(text.encode(), digest_size=16).hexdigest()


def exceptions_of(error: TaskError | RunException, is_handled: bool) -> list[Item]:
    """The exceptions that led to it, the first one first, and then the error itself."""
    parts = CHAINED.split(error.traceback[-LONGEST_TRACEBACK:])
    earlier, links, last = parts[:-1:2], parts[1::2], parts[-1]
    found = [
        _exception(
            {
                "type": error.exception_type or "Error",
                "value": error.message[:LONGEST_MESSAGE],
                "mechanism": {"type": "dask", "handled": is_handled, "exception_id": 0},
            },
            last,
        )
    ]
    for number, (part, link) in enumerate(zip(reversed(earlier), reversed(links), strict=True), 1):
        if number > MOST_EARLIER:
            break
        name, _, message = _line_of_exception(part).partition(": ")
        mechanism = {
            "type": "chained",
            "source": "__cause__" if link == CAUSE else "__context__",
            "exception_id": number,
            "parent_id": number - 1,
        }
        exception = {"type": name.rpartition(".")[2][:LONGEST_TAG], "value": message[:LONGEST_MESSAGE]}
        found.append(_exception({**exception, "mechanism": mechanism}, part))
    return found[::-1]


def _exception(exception: Item, traceback: str) -> Item:
    if frames := frames_of(traceback):
        exception["stacktrace"] = {"frames": frames}
    return exception


def _line_of_exception(traceback: str) -> str:
    """What follows the frames and their code: the exception with its message."""
    rest = traceback[max((found.end() for found in FRAME.finditer(traceback)), default=0) :]
    lines = rest.strip("\n").split("\n")
    while len(lines) > 1 and (lines[0].startswith(" ") or not lines[0]):
        lines.pop(0)
    return "\n".join(lines)


def frames_of(traceback: str) -> list[Item]:
    """The frames of an exception as Python prints it, the outermost first."""
    return [_frame(traceback, found) for found in list(FRAME.finditer(traceback))[-MOST_FRAMES:]]


def _frame(traceback: str, found: Any) -> Item:
    path, line, function = found.groups()
    frame: Item = {
        "filename": path,
        "function": function,
        "lineno": int(line),
        "in_app": LIBRARY.search(path) is None,
    }
    code = traceback[found.end() + 1 :].partition("\n")[0]
    if code.startswith("    "):
        frame["context_line"] = code.strip()[:LONGEST_TAG]
    return frame


def _tags(run: Run, more: Item) -> Item:
    tags = {
        "project": run.cluster.project.slug,
        "cluster": run.cluster.name,
        "run": run.name,
        "url": _url(run),
        **more,
    }
    return {name: text[:LONGEST_TAG] for name, text in tags.items() if text}


def _context(kind: Mapping[str, Any], error: TaskError) -> Item:
    return {
        "key": error.key,
        "outcome": error.outcome,
        "failed attempts": kind["count"],
        "of these retried": kind["retried"],
        "of these by the deaths of workers": kind["killed"],
        "failed with it": error.dependents,
    }


def _url(run: Run) -> str:
    return url_in_message(reverse("run", args=[run.pk]))
