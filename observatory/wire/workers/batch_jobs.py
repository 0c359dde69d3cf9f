"""Jobs of batch systems in which workers run, as their detail tells them: what was asked, and the wait."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from observatory.wire.records import clean_text

BATCH_JOB = "batch_job"
"""the key in a worker's detail"""
LONGEST = 200
"""characters of a text"""
MOST_MEMORY = 2**60
"""bytes; more is no amount that somebody asked for"""
MOST_SECONDS = 1e10
MOST_COUNT = 10_000_000


@dataclass(frozen=True)
class BatchJob:
    """A job on one of its nodes. What isn't known is "" or None."""

    system: str
    """slurm, pbs, lsf or htcondor"""
    id: str
    """as the system's commands show it: 12, 12_3 of an array, 12+1 of a heterogeneous job, 12[3].server"""
    restarts: int = 0
    """how often a job with this id was requeued before"""
    array: str = ""
    """id of the array that it is one of"""
    site: str = ""
    """the batch system's own name of its cluster or server"""
    name: str = ""
    queue: str = ""
    """or partition"""
    account: str = ""
    node: str = ""
    nodes: int | None = None
    """of the whole job"""
    cores: int | None = None
    """asked on this node"""
    memory: int | None = None
    """bytes asked on this node; None: not asked"""
    option: str = ""
    """with which memory is asked: --mem"""
    time_limit: float | None = None
    """seconds"""
    started: float | None = None
    """seconds since the epoch, by the batch system's clock"""
    waited: float | None = None
    """seconds from its submission, or the last time that it was requeued, to its start"""

    def detail(self) -> dict[str, Any]:
        """What is known, as a value of a worker's detail."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}


def read_batch_job(detail: Any) -> BatchJob | None:
    """The job in a worker's detail; None without one. Values that can't be are left out."""
    told = detail.get(BATCH_JOB) if isinstance(detail, Mapping) else None
    if not isinstance(told, Mapping):
        return None
    texts = {name: _text(told.get(name)) for name in _names(str)}
    counts = {name: _number(told.get(name), 0, most) for name, most in _MOST.items()}
    if not texts["system"] or not texts["id"]:
        return None
    numbers = {name: None if count is None else int(count) for name, count in counts.items()}
    return BatchJob(
        **texts,
        nodes=numbers["nodes"] or None,
        cores=numbers["cores"] or None,
        memory=numbers["memory"] or None,
        restarts=numbers["restarts"] or 0,
        time_limit=_number(told.get("time_limit"), 0, MOST_SECONDS),
        started=_number(told.get("started"), 0, MOST_SECONDS),
        waited=_number(told.get("waited"), 0, MOST_SECONDS),
    )


_MOST = {"nodes": MOST_COUNT, "cores": MOST_COUNT, "memory": MOST_MEMORY, "restarts": MOST_COUNT}


def _names(type: type) -> list[str]:
    return [field.name for field in fields(BatchJob) if field.type == type.__name__]


def _text(value: Any) -> str:
    return clean_text(value, LONGEST).strip() if isinstance(value, str) else ""


def _number(value: Any, least: float, most: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if math.isfinite(value) and least <= value <= most else None
