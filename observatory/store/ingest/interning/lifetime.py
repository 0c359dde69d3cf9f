"""One lifetime of a worker process, and its lanes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any

from observatory.store.texts import LARGEST_INTEGER, clean_json, clean_name
from observatory.store.workers.processes import process_number
from observatory.store.workers.slots import slot_of
from observatory.store.workers.tags import tags_of
from observatory.store.workers.thresholds import thresholds_of
from observatory.wire.records import WorkerSeen

LIFETIME_SIZE, LANE_SIZE = 500, 250
"""bytes of memory beside the texts"""
LARGEST_INT4 = 2**31 - 1


@dataclass(slots=True, eq=False)
class Lane:
    lifetime: Lifetime
    thread: int
    position: int
    id: int = 0
    """0 until it is stored"""

    def item(self) -> dict[str, Any]:
        """As docs/architecture/http.md shows a lane."""
        return {"id": self.id, "worker": self.lifetime.id, "thread": self.thread, "position": self.position}


@dataclass(slots=True, eq=False)
class Lifetime:
    """One worker process's lifetime. Times are seconds."""

    address: str
    started: float
    name: str = ""
    host: str = ""
    nthreads: int = 0
    memory_limit: int = 0
    resources: str = "{}"
    detail: str = "{}"
    """JSON"""
    status: str = "running"
    ended: float = math.inf
    end_reason: str = ""
    position: int = 0
    """0, 1, … within its cluster in the order in which workers were first seen"""
    id: int = 0
    """0 until it is stored"""
    lanes: dict[int, Lane] = field(default_factory=dict)
    """by thread"""

    @property
    def size(self) -> int:
        """Bytes of memory, by estimate."""
        texts = (self.name, self.host, self.resources, self.detail, self.status, self.end_reason)
        return LIFETIME_SIZE + LANE_SIZE * len(self.lanes) + sum(map(getsizeof, texts))

    def item(self) -> dict[str, Any]:
        """As docs/architecture/http.md shows a worker."""
        detail = json.loads(self.detail)
        return {
            "id": self.id,
            "address": self.address,
            "name": self.name,
            "host": self.host,
            "slot": slot_of(self.name, self.address, self.detail),
            "nthreads": self.nthreads,
            "memory_limit": self.memory_limit,
            "started": self.started,
            "ended": None if math.isinf(self.ended) else self.ended,
            "end_reason": self.end_reason,
            "status": self.status,
            "position": self.position,
            "tags": tags_of(json.loads(self.resources), detail),
            "process": process_number(detail),
            "thresholds": thresholds_of(detail),
        }

    def update(self, seen: WorkerSeen) -> bool:
        """Updates it; returns whether anything changed. An ended one keeps its status."""
        before = self._state()
        self.name, self.host = clean_name(seen.name), clean_name(seen.host)
        self.nthreads = min(max(seen.nthreads, 0), LARGEST_INT4)
        self.memory_limit = min(max(seen.memory_limit, 0), LARGEST_INTEGER)
        self.resources = clean_json(seen.resources)
        if math.isinf(self.ended):
            self.status = clean_name(seen.status)
        if seen.detail:
            self.detail = clean_json(_merged(json.loads(self.detail), seen.detail))
        self.started = min(self.started, seen.time)
        after = self._state()
        return before != after

    def is_another_process(self, seen: WorkerSeen) -> bool:
        """Whether both are known to be processes, and not the same one."""
        ids = (json.loads(self.detail).get("pid"), (seen.detail or {}).get("pid"))
        return None not in ids and ids[0] != ids[1]

    def _state(self) -> tuple[Any, ...]:
        return (
            self.name,
            self.host,
            self.nthreads,
            self.memory_limit,
            self.resources,
            self.detail,
            self.status,
            self.started,
        )


def _merged(known: dict[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """What is told later counts. The scheduler and the worker tell the versions of other packages."""
    versions = [each for detail in (known, told) if isinstance(each := detail.get("versions"), Mapping)]
    merged = {**known, **told}
    return {**merged, "versions": {**versions[0], **versions[1]}} if len(versions) == 2 else merged
