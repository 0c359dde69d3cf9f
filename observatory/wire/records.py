"""Values of records, and single records, as sources make them.

Times are seconds since the epoch on the scheduler's clock. Durations are seconds, sizes bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple
from uuid import UUID

MAXIMUM_KEY_LENGTH = 2_000
MAXIMUM_TEXT_LENGTH = 10_000


class Action(IntEnum):
    """What a lane did during a span (`startstops[...]["action"]` in Dask)."""

    COMPUTE = 0
    TRANSFER = 1
    DISK_READ = 2
    DISK_WRITE = 3
    DESERIALIZE = 4
    SERIALIZE = 5
    LONG_RUNNING = 6
    """the task has seceded: it computes, or waits, outside of the worker's pool of threads"""

    @classmethod
    def of(cls, name: str) -> Action:
        """The action that Dask calls `name` ("disk-read"); raises ValueError for one it never uses."""
        try:
            return cls[name.upper().replace("-", "_")]
        except KeyError:
            raise ValueError(f"unknown action {name[:50]!r}") from None

    @property
    def label(self) -> str:
        return self.name.lower().replace("_", "-")


class Status(IntEnum):
    """How the task that a span belongs to ended (`status` in Dask's transition message)."""

    OK = 0
    ERROR = 1


class MetricType(IntEnum):
    """Prometheus' metric types that are drawn differently."""

    UNKNOWN = 0
    GAUGE = 1
    COUNTER = 2


TASK_STATES = ("released", "waiting", "no-worker", "queued", "processing", "memory", "erred", "forgotten")
"""Task states on the scheduler (`distributed.scheduler.ALL_TASK_STATES`). The position is the stored code."""

UNFINISHED_STATES = ("waiting", "no-worker", "queued", "processing")
"""Those of tasks that are to be computed."""

SOURCES = ("task", "event-loop", "native")
"""Sources of profiles. The position is the stored code."""

ROLES = ("scheduler", "worker", "nanny")
"""Roles of the processes that log. The position is the stored code."""


class Span(NamedTuple):
    """One timed action of a task on a lane (Dask: one entry of `startstops`)."""

    worker: str
    """address of the worker: "tcp://10.0.0.1:4000" """
    thread: int
    """identifier of the thread (`threading.get_ident` on the worker)"""
    key: str
    prefix: str
    """`dask.utils.key_split(key)`"""
    group: str
    """`distributed.utils.key_split_group(key)`"""
    action: Action
    start: float
    stop: float
    nbytes: int = 0
    """size of the task's result"""
    typename: str = ""
    """type of the task's result"""
    status: Status = Status.OK


@dataclass(frozen=True, slots=True)
class Series:
    """A metric name and its labels, of one worker or (worker "") of the scheduler or cluster."""

    metric: str
    labels: tuple[tuple[str, str], ...] = ()
    """sorted by name"""
    worker: str = ""
    """address"""
    type: MetricType = MetricType.GAUGE


@dataclass(frozen=True, slots=True)
class Sample:
    series: Series
    time: float
    value: float


@dataclass(frozen=True, slots=True)
class Event:
    """An event of the cluster. `kind` is one of EVENT_KINDS (event_kinds.py)."""

    time: float
    kind: str
    worker: str = ""
    """address, or "" """
    detail: Mapping[str, Any] = field(default_factory=dict)
    """JSON-able; `message` in it is shown to people"""


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """A worker in the scheduler's list; starts a lifetime if the address has no open one."""

    address: str
    name: str
    host: str
    nthreads: int
    memory_limit: int
    """bytes; 0 when there is none"""
    time: float
    """when it was first seen"""
    status: str = "running"
    resources: Mapping[str, float] = field(default_factory=dict)
    detail: Mapping[str, Any] = field(default_factory=dict)
    """JSON-able: versions, process, instance type …; merged with the known details"""


@dataclass(frozen=True, slots=True)
class WorkerGone:
    """The end of a worker's lifetime."""

    address: str
    time: float
    reason: str
    """one of wire.departures, or CLUSTER_ENDED"""


@dataclass(frozen=True, slots=True)
class ClientRun:
    """The start or the end of a run in client code."""

    run: UUID
    time: float
    """when the scheduler was informed"""
    start: float
    outcome: str
    """one of wire.runs.OUTCOMES"""
    name: str
    tags: Mapping[str, str]
    user: str
    """of the operating system"""
    code: str
    exception_type: str
    """of what ended it, or "" """


def clean_text(text: str, limit: int = MAXIMUM_TEXT_LENGTH) -> str:
    """`text` made storable: control characters and lone surrogates replaced by U+FFFD, cut at `limit`."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isprintable():
        return text
    unprintable = {ord(c): "�" for c in set(text) if not c.isprintable() and c not in " \n\t"}
    return text.translate(unprintable)


def printable(text: str) -> str:
    """`text` in one line, without what would steer a terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)


def key_text(key: Any) -> str:
    """The text of a task's key, which has any type that Dask allows: as `str` shows it."""
    if isinstance(key, str):
        return key
    try:
        return str(key)
    except Exception:  # a key of a user's own type, an integer of too many digits
        return f"<{type(key).__name__}>"


def clean_key(key: str) -> str:
    """A task key made storable in one line."""
    if key.isprintable() and len(key) <= MAXIMUM_KEY_LENGTH:
        return key
    return clean_text(key, MAXIMUM_KEY_LENGTH).replace("\n", "�").replace("\t", "�")


def is_time(value: float) -> bool:
    """True for seconds since the epoch between 2000 and 2100."""
    return math.isfinite(value) and 946_684_800 < value < 4_102_444_800
