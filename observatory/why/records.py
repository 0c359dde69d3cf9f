"""The records of a window from which the time of its threads is accounted for, as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from observatory.store.queries.fetch import Array
from observatory.why.clients import Clients
from observatory.why.intervals import Flags, Integers, Intervals
from observatory.wire.records import Action


@dataclass(frozen=True, slots=True)
class Worker:
    """A lifetime. Times are microseconds."""

    id: int
    threads: int
    start: int
    stop: int
    """its end, or the window's"""
    has_ended: bool
    slot: str
    """the same for the successive lifetimes of one worker"""
    has_died: bool = False
    """it ended without closing"""
    starting: int = 0
    """how long its process had run before in the window, or it had been there and had not taken tasks yet; 0
    also where that isn't known"""
    resources: Mapping[str, float] = field(default_factory=dict)
    """that tasks can require, by name"""

    @property
    def begun(self) -> int:
        """When its process began, in the window."""
        return self.start - self.starting

    @property
    def startup(self) -> Intervals:
        return Intervals.of(np.array([self.begun]), np.array([self.start]))


@dataclass(frozen=True)
class Spans:
    """Actions of tasks, clipped to nothing. A task is a number."""

    worker: Integers
    task: Integers
    prefix: Integers
    group: Integers
    lane: Integers
    action: Integers
    is_error: Flags
    is_rescheduled: Flags
    """the call raised `Reschedule`, and its task was sent again; `is_error` as well"""
    nbytes: Integers
    """size of the task's result"""
    times: Intervals
    recorded_start: Integers
    """as it is stored: `times` are corrected (clocks.py)"""
    seceded: Integers
    """when the task left its worker's pool of threads; its end, where it didn't before"""

    @cached_property
    def computing(self) -> Spans:
        """Those that computed."""
        return self.where(self.action == Action.COMPUTE)

    @property
    def in_pool(self) -> Intervals:
        """When they took a thread of the pool."""
        return Intervals(self.times.start, self.seceded)

    @property
    def outside(self) -> Intervals:
        """When they ran beside the pool, having seceded."""
        return Intervals(self.seceded, self.times.stop)

    @classmethod
    def none(cls) -> Spans:
        no = np.zeros(0, np.int64)
        flags = np.zeros(0, np.bool_)
        return cls(no, no, no, no, no, no, flags, flags, no, Intervals.none(), no, no)

    def __len__(self) -> int:
        return len(self.worker)

    def and_these(self, *more: Spans) -> Spans:
        """All of them, `more` last."""
        return _joined_columns([self, *more])

    def where(self, condition: Flags | Integers) -> Spans:
        """`condition`: flags, or places."""
        return Spans(
            self.worker[condition],
            self.task[condition],
            self.prefix[condition],
            self.group[condition],
            self.lane[condition],
            self.action[condition],
            self.is_error[condition],
            self.is_rescheduled[condition],
            self.nbytes[condition],
            self.times.where(condition),
            self.recorded_start[condition],
            self.seceded[condition],
        )


@dataclass(frozen=True)
class Transitions:
    """Changes of tasks' states. States are the positions in TASK_STATES."""

    task: Integers
    prefix: Integers
    time: Integers
    start: Integers
    finish: Integers
    worker: Integers
    """0: none"""

    @cached_property
    def by_task(self) -> Integers:
        """The places of all of them, those of a task together in the order of time."""
        return np.lexsort((self.time, self.task))

    @classmethod
    def none(cls) -> Transitions:
        return cls(*(np.zeros(0, np.int64) for _ in range(6)))

    @classmethod
    def of(cls, columns: Mapping[str, Array]) -> Transitions:
        """`columns`: of TRANSITION_TYPES (store/queries/windows/thread_time.py), or more."""
        return cls(*(columns[column.name].astype(np.int64) for column in fields(cls)))

    def where(self, condition: Flags | Integers) -> Transitions:
        return Transitions(*(getattr(self, column.name)[condition] for column in fields(self)))

    def and_these(self, more: Transitions) -> Transitions:
        """All of both, `more` last."""
        return _joined_columns([self, more])

    def __len__(self) -> int:
        return len(self.task)


@dataclass(frozen=True, slots=True)
class OfWorkers:
    """Intervals of workers."""

    worker: Integers
    times: Intervals

    @classmethod
    def none(cls) -> OfWorkers:
        return cls(np.zeros(0, np.int64), Intervals.none())


@dataclass(frozen=True, slots=True)
class Records:
    """The records of [start, stop), in microseconds."""

    start: int
    stop: int
    workers: list[Worker]
    spans: Spans
    transitions: Transitions
    """with those that work stealing made: from processing to processing on another worker"""
    transfers: OfWorkers
    """that workers received"""
    pauses: OfWorkers
    clients: Clients = field(default_factory=lambda: Clients({}))
    clock_errors: Mapping[int, int] = field(default_factory=dict)
    """by how much times of a worker can differ from the scheduler's, where they do"""
    others: OfWorkers = field(default_factory=OfWorkers.none)
    """computations of other clients' tasks, of which the other records have nothing"""
    unfinished: Spans = field(default_factory=Spans.none)
    """what ran and did not finish in the window (unfinished.py); `spans` don't have it"""
    withdrawn: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    """of each of these, when the scheduler did not want it any more, or its end; its thread returns later"""
    agent_reported: bool = False
    """an agent reported of the cluster, and no task ran in the window that would tell"""

    @property
    def has_agent(self) -> bool:
        """Whether an agent recorded the window: stock endpoints don't tell of transitions."""
        return self.agent_reported or len(self.transitions) > 0 or len(self.unfinished) > 0

    def clock_errors_of(self, workers: Integers) -> Integers:
        return values_of(workers, self.clock_errors, 0)


def values_of(ids: Integers, values: Mapping[int, int], otherwise: int) -> Integers:
    """The value of each of many ids, of which there are few different ones; `otherwise`: it has none."""
    known = np.array(sorted(values), np.int64)
    found = np.array([*(values[id] for id in known.tolist()), otherwise], np.int64)
    place = np.searchsorted(known, ids)
    return np.where(np.append(known, 0)[place] == ids, found[place], otherwise)


class RowsByWorker:
    """Finds the places of a worker's rows without a comparison of all of them."""

    def __init__(self, workers: Integers) -> None:
        self._order = np.argsort(workers, kind="stable")
        self._sorted = workers[self._order]

    def __call__(self, worker: int) -> Integers:
        first, last = np.searchsorted(self._sorted, [worker, worker + 1])
        return np.sort(self._order[first:last])


@dataclass(frozen=True, slots=True)
class Graph:
    """What the tasks of a window need. Each edge is at one place of all its arrays."""

    group: Integers
    task: Integers
    needs_task: Integers
    needing_group: Integers
    """of edges between groups, which are known of all graphs; those between tasks only of smaller graphs"""
    needs_group: Integers

    def __len__(self) -> int:
        return len(self.task) + len(self.needing_group)


Columns = TypeVar("Columns", Spans, Transitions, Intervals)


def _joined_columns(parts: Sequence[Columns]) -> Columns:
    """The rows of all, where each field is an array, or has arrays as fields."""
    joined: list[Any] = []
    for column in fields(parts[0]):
        values = [getattr(part, column.name) for part in parts]
        is_nested = isinstance(values[0], Intervals)
        joined.append(_joined_columns(values) if is_nested else np.concatenate(values))
    return type(parts[0])(*joined)
