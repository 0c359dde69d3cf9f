"""The tags of a worker, by which workers are grouped, filtered and compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from observatory.wire.workers.batch_jobs import read_batch_job

LONGEST = 100
"""characters of a name or value"""
MOST_TAGS = 40
HOST, UNKNOWN = "host", "unknown"
"""what every worker can be grouped by beside its tags; the value of workers without a tag"""
RESERVED = (HOST, "none")
RESOURCE = "resource "


def tags_of(resources: Any, detail: Any) -> dict[str, str]:
    """Return the tags by name, from the JSON objects `resources` and `detail` of a worker.

    The labels that people gave it come first: one of them can replace what the worker tells by itself.
    """
    detail = detail if isinstance(detail, Mapping) else {}
    tags = _texts(detail.get("labels"))
    own = {f"{RESOURCE}{name}": amount_text(amount) for name, amount in sorted(_items(resources).items())}
    machine = detail.get("machine")
    if isinstance(machine, list) and machine:
        own["machine"] = " ".join(map(str, machine))
    if isinstance(detail.get("python"), str):
        own["Python"] = detail["python"]
    release = detail.get("release")
    if isinstance(release, Mapping) and isinstance(release.get("name"), str):
        own["release"] = release["name"]
    job = read_batch_job(detail)
    if job is not None:
        own |= {"batch job": job.id, "queue": job.queue}
    tags = {**tags, **{name: value for name, value in own.items() if name not in tags}}
    tags |= {name: value for name, value in _texts(detail.get("surroundings")).items() if name not in tags}
    named = ((name[:LONGEST], value[:LONGEST]) for name, value in tags.items() if value)
    return dict([(name, value) for name, value in named if name not in RESERVED][:MOST_TAGS])


def group_of(tags: Mapping[str, str], host: str, name: str) -> str:
    """Return a worker's value of the tag `name`, or its host."""
    return (host if name == HOST else tags.get(name, "")) or UNKNOWN


def amount_text(amount: Any) -> str:
    """Return an amount of a resource: 2 and 2.0, as agents and schedulers tell it, are the same."""
    if isinstance(amount, float) and math.isfinite(amount) and amount.is_integer() and abs(amount) < 1e15:
        return str(int(amount))
    return str(amount)


def _items(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: Any) -> dict[str, str]:
    return {str(name): str(text) for name, text in _items(value).items()}
