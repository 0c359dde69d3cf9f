"""The history of a task, and the last minute of the workers where it failed."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import psycopg

from observatory.store.archive.scans.conditions import Condition, OneOf, with_key
from observatory.store.keys import StoredKeys, find_keys
from observatory.store.queries import logs
from observatory.store.queries.logs import LogLine
from observatory.store.queries.tasks import errors
from observatory.store.queries.tasks import history as store
from observatory.store.queries.tasks.errors import TaskError
from observatory.store.queries.tasks.history import (
    Submission,
    TaskSpan,
    Transition,
    WorkerDetails,
    WorkerEvent,
)
from observatory.store.queries.tasks.lineage import Direction, neighbours
from observatory.store.reading.scanning import scanned
from observatory.wire.records import clean_key

MINUTE = timedelta(seconds=60)
AFTER = timedelta(seconds=10)
"""how long after a worker's end its nanny may report it"""
MAXIMUM_WORKERS = 20
MAXIMUM_LINES = 300
MAXIMUM_EVENTS = 50
MAXIMUM_STEPS = 1_000
MAXIMUM_KEYS = 200


@dataclass(frozen=True, slots=True)
class WorkerLastMinute:
    """A worker in the minute before its end, or before the error if it survived."""

    worker: WorkerDetails
    end: datetime
    memory: list[tuple[datetime, float]]
    """(time, bytes) of the process"""
    lines: list[LogLine]
    """log lines of the worker and its nanny"""
    events: list[WorkerEvent]

    @property
    def start(self) -> datetime:
        return self.end - MINUTE

    @property
    def died(self) -> bool:
        return self.worker.ended == self.end

    @property
    def peak(self) -> float:
        """bytes of memory; 0 without samples"""
        return max((value for _, value in self.memory), default=0.0)


@dataclass(frozen=True, slots=True)
class Step:
    """An entry of a task's history: one of transition, span and error is set."""

    time: datetime
    transition: Transition | None = None
    span: TaskSpan | None = None
    error: TaskError | None = None


@dataclass(frozen=True, slots=True)
class ResultLocation:
    """A worker that held a task's result, and when."""

    worker: str
    since: datetime
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Tasks at the other ends of a task's edges in one direction."""

    keys: list[str]
    """the first MAXIMUM_KEYS, sorted"""
    total: int


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """Everything recorded of a task; false if nothing is."""

    transitions: list[Transition]
    spans: list[TaskSpan]
    errors: list[TaskError]
    requests: list[Submission]
    dependencies: Neighbours
    dependents: Neighbours
    prefixes: list[str]
    """of the tasks, sorted: there are several if keys of different types are written alike, as 1 and "1" """

    def __bool__(self) -> bool:
        return bool(
            self.transitions
            or self.spans
            or self.errors
            or self.requests
            or self.dependencies.total
            or self.dependents.total
        )

    @property
    def is_cut(self) -> bool:
        """Whether a limit was reached, so that records may be missing."""
        return MAXIMUM_STEPS in (len(self.transitions), len(self.spans), len(self.errors))

    @property
    def state(self) -> str:
        """The last recorded state; empty: none."""
        return self.transitions[-1].finish if self.transitions else ""

    @property
    def steps(self) -> list[Step]:
        """All entries, sorted by time."""
        steps = [
            *(Step(transition.time, transition=transition) for transition in self.transitions),
            *(Step(span.start, span=span) for span in self.spans),
            *(Step(error.time, error=error) for error in self.errors),
        ]
        return sorted(steps, key=lambda step: step.time)

    @property
    def result_locations(self) -> list[ResultLocation]:
        """The workers that held the result, sorted by time."""
        found: list[ResultLocation] = []
        for transition in self.transitions:
            if found and found[-1].until is None and transition.start == "memory":
                found[-1] = ResultLocation(found[-1].worker, found[-1].since, transition.time)
            if transition.finish == "memory" and transition.worker:
                found.append(ResultLocation(transition.worker, transition.time, None))
        return found


def task_history(connection: psycopg.Connection, cluster: int, key: str) -> TaskHistory:
    """Read the history of a task."""
    keys = find_keys(connection, cluster, key)
    of_key = with_key([clean_key(key)])
    conditions = dict.fromkeys(("transition", "span", "error", "task"), of_key)
    edges = with_key([clean_key(key)], ("key", "depends_on"))
    with scanned(connection, cluster, {**conditions, "dependency": edges}):
        return TaskHistory(
            store.transitions(connection, cluster, keys, MAXIMUM_STEPS),
            store.spans(connection, cluster, keys, MAXIMUM_STEPS),
            errors.errors_of_key(connection, cluster, keys, MAXIMUM_STEPS),
            store.submissions(connection, cluster, keys, MAXIMUM_STEPS),
            _neighbours(connection, cluster, keys, Direction.DEPENDENCIES),
            _neighbours(connection, cluster, keys, Direction.DEPENDENTS),
            store.prefixes(connection, cluster, keys),
        )


def error_with_id(connection: psycopg.Connection, cluster: int, id: UUID) -> TaskError | None:
    """Read one error with its traceback; None if the cluster has no such error."""
    with scanned(connection, cluster, {"error": Condition((OneOf(("id",), frozenset({str(id)})),))}):
        return errors.task_error(connection, cluster, id)


def _neighbours(
    connection: psycopg.Connection, cluster: int, keys: StoredKeys, direction: Direction
) -> Neighbours:
    found = neighbours(connection, cluster, keys, direction, MAXIMUM_KEYS)
    return Neighbours([task.key for task in found], found[0].total if found else 0)


def worker_last_minutes(
    connection: psycopg.Connection, cluster: int, error: TaskError, transitions: Sequence[Transition]
) -> list[WorkerLastMinute]:
    """Return the last minute of each worker that the error names, in the order of their ends."""
    lives = store.worker_lifetimes(connection, cluster, error.workers, error.time)
    ran = {step.worker_id for step in transitions if step.finish == "processing" and step.time <= error.time}
    chosen = _chosen(error, lives, {id for id in ran if id is not None})
    return [_last_minute(connection, cluster, life, error.time) for life in chosen[:MAXIMUM_WORKERS]]


def _chosen(error: TaskError, lives: Sequence[WorkerDetails], ran: AbstractSet[int]) -> list[WorkerDetails]:
    """Select the lifetimes of the error's addresses that ran the task; an address can be reused."""
    chosen: list[WorkerDetails] = []
    for address in dict.fromkeys(error.workers):
        there = [life for life in lives if life.address == address]
        ended = [life for life in there if error.outcome != "killed" or life.ended is not None]
        chosen += [life for life in ended if life.id in ran] or (ended or there)[-1:]
    return sorted(chosen, key=lambda life: life.ended or error.time)


def _last_minute(
    connection: psycopg.Connection, cluster: int, life: WorkerDetails, erred: datetime
) -> WorkerLastMinute:
    # ends are reported with a delay: one just after the error may have caused it
    end = life.ended if life.ended is not None and life.ended <= erred + AFTER else erred
    start, stop = end - MINUTE, end + AFTER
    memory = (OneOf(("metric",), frozenset({store.MEMORY})), OneOf(("worker",), frozenset({life.address})))
    of_worker = Condition((OneOf(("worker",), frozenset({life.address})),), start, stop)
    conditions = {"sample": Condition(memory, start, stop), "log": of_worker, "event": of_worker}
    with scanned(connection, cluster, conditions):
        return WorkerLastMinute(
            life,
            end,
            store.process_memory(connection, cluster, life.id, start, end),
            logs.last_lines_of_worker(connection, cluster, life.id, start, stop, MAXIMUM_LINES),
            store.worker_events(connection, cluster, life.id, start, stop, MAXIMUM_EVENTS),
        )
