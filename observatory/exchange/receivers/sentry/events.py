"""Events of Sentry: one for each exception and place in the code that tasks of a run failed with.

Source: https://develop.sentry.dev/sdk/data-model/event-payloads/.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from django.urls import reverse

from observatory.clusters.public_urls import url_in_message
from observatory.exchange.receivers.otlp.identity import Identity
from observatory.runs.errors.places import FRAME, LIBRARY, LONGEST_TRACEBACK
from observatory.runs.models import Run
from observatory.store.queries.tasks.errors import TaskError
from observatory.wire.ci import COMMIT

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


def event_of(run: Run, kind: Mapping[str, Any], error: TaskError, with_arguments: bool) -> Item:
    """The event of a kind of errors (as RunError has it) and its last error."""
    identity = Identity(run)
    event: Item = {
        "event_id": _event_id(identity, kind),
        "timestamp": error.time.timestamp(),
        "platform": "python",
        "logger": "dask",
        "level": "warning" if kind["retried"] == kind["count"] else "error",
        "transaction": run.name[:LONGEST_TAG],
        "server_name": error.worker[:LONGEST_TAG],
        "fingerprint": ["dask-observatory", kind["exception_type"], kind["place"]],
        "exception": {"values": exceptions_of(error)},
        "tags": _tags(run, error),
        "contexts": {
            "trace": {"trace_id": identity.trace.hex(), "span_id": identity.root.hex(), "op": "dask.run"},
            "dask": _context(run, kind, error),
        },
    }
    for tag, field in OF_EVENT.items():
        if text := str(run.tags.get(tag, "")):
            event.setdefault(field, text[:LONGEST_TAG])
    if with_arguments and error.arguments:
        event["extra"] = {"arguments": error.arguments[:LONGEST_ARGUMENTS]}
    return event


def _event_id(identity: Identity, kind: Mapping[str, Any]) -> str:
    """The same whenever the run is sent, so that Sentry drops a second one."""
    text = f"{identity.root.hex()} {kind['exception_type']} {kind['place']}"
    return blake2b(text.encode(), digest_size=16).hexdigest()


def exceptions_of(error: TaskError) -> list[Item]:
    """The exceptions that led to it, the first one first, and then the error itself."""
    parts = CHAINED.split(error.traceback[-LONGEST_TRACEBACK:])
    earlier, links, last = parts[:-1:2], parts[1::2], parts[-1]
    found = [
        _exception(
            {
                "type": error.exception_type or "Error",
                "value": error.message[:LONGEST_MESSAGE],
                "mechanism": {"type": "dask", "handled": error.outcome == "retried", "exception_id": 0},
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


def _tags(run: Run, error: TaskError) -> Item:
    tags = {
        "project": run.cluster.project.slug,
        "cluster": run.cluster.name,
        "run": run.name,
        "prefix": error.prefix,
        "function": error.function,
        "url": _url(run),
    }
    return {name: text[:LONGEST_TAG] for name, text in tags.items() if text}


def _context(run: Run, kind: Mapping[str, Any], error: TaskError) -> Item:
    return {
        "run": run.name,
        "user": run.user,
        "url": _url(run),
        "key": error.key,
        "outcome": error.outcome,
        "failed attempts": kind["count"],
        "of these retried": kind["retried"],
        "of these by the deaths of workers": kind["killed"],
        "failed with it": error.dependents,
    }


def _url(run: Run) -> str:
    return url_in_message(reverse("run", args=[run.pk]))
