"""The story of a task: all that happened to it, and the workers that it failed on in their last minute."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta

import psycopg

from observatory.store.queries import errors, logs
from observatory.store.queries import task_history as stories
from observatory.store.queries.errors import TaskError
from observatory.store.queries.logs import LogLine
from observatory.store.queries.task_history import (
    Submission,
    TaskSpan,
    Transition,
    WorkerDetails,
    WorkerEvent,
)

MINUTE = timedelta(seconds=60)
AFTER = timedelta(seconds=10)
"""how long after a worker's end its nanny may tell of it"""
MAXIMUM_WORKERS = 20
MAXIMUM_LINES = 300
MAXIMUM_EVENTS = 50
MAXIMUM_STEPS = 1_000
MAXIMUM_KEYS = 200


@dataclass(frozen=True, slots=True)
class WorkerLastMinute:
    """A worker in the minute before its end or, where it lived on, before the error."""

    life: WorkerDetails
    end: datetime
    memory: list[tuple[datetime, float]]
    """(time, bytes) of its process"""
    lines: list[LogLine]
    """of the worker and its nanny"""
    events: list[WorkerEvent]

    @property
    def start(self) -> datetime:
        return self.end - MINUTE

    @property
    def died(self) -> bool:
        return self.life.ended == self.end

    @property
    def peak(self) -> float:
        """bytes; 0 when nothing is known"""
        return max((value for _, value in self.memory), default=0.0)


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happened to a task: one of the three is set."""

    time: datetime
    transition: Transition | None = None
    span: TaskSpan | None = None
    error: TaskError | None = None


@dataclass(frozen=True, slots=True)
class ResultLocation:
    """The time for which a task's result lay on a worker."""

    worker: str
    since: datetime
    until: datetime | None


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """All that is known of a task."""

    transitions: list[Transition]
    spans: list[TaskSpan]
    errors: list[TaskError]
    requests: list[Submission]
    dependencies: list[str]
    dependents: list[str]

    def __bool__(self) -> bool:
        return bool(
            self.transitions
            or self.spans
            or self.errors
            or self.requests
            or self.dependencies
            or self.dependents
        )

    @property
    def is_cut(self) -> bool:
        """Whether there is more than was read."""
        return MAXIMUM_STEPS in (len(self.transitions), len(self.spans), len(self.errors))

    @property
    def state(self) -> str:
        """The last one that is known."""
        return self.transitions[-1].finish if self.transitions else ""

    @property
    def steps(self) -> list[Step]:
        """In order of time."""
        steps = [
            *(Step(transition.time, transition=transition) for transition in self.transitions),
            *(Step(span.start, span=span) for span in self.spans),
            *(Step(error.time, error=error) for error in self.errors),
        ]
        return sorted(steps, key=lambda step: step.time)

    @property
    def stays(self) -> list[ResultLocation]:
        """Where the result lay, in order of time."""
        found: list[ResultLocation] = []
        for transition in self.transitions:
            if found and found[-1].until is None and transition.start == "memory":
                found[-1] = ResultLocation(found[-1].worker, found[-1].since, transition.time)
            if transition.finish == "memory" and transition.worker:
                found.append(ResultLocation(transition.worker, transition.time, None))
        return found


def task_history(connection: psycopg.Connection, cluster: int, key: str) -> TaskHistory:
    return TaskHistory(
        stories.transitions(connection, cluster, key, MAXIMUM_STEPS),
        stories.spans(connection, cluster, key, MAXIMUM_STEPS),
        errors.errors_of_key(connection, cluster, key, MAXIMUM_STEPS),
        stories.submissions(connection, cluster, key, MAXIMUM_STEPS),
        stories.dependencies(connection, cluster, key, MAXIMUM_KEYS),
        stories.dependents(connection, cluster, key, MAXIMUM_KEYS),
    )


def worker_last_minutes(
    connection: psycopg.Connection, cluster: int, error: TaskError, transitions: Sequence[Transition]
) -> list[WorkerLastMinute]:
    """Of the workers that the error names, in the order in which the task was on them."""
    lives = stories.worker_lifetimes(connection, cluster, error.workers, error.time)
    ran = {step.worker_id for step in transitions if step.finish == "processing" and step.time <= error.time}
    chosen = _chosen(error, lives, {id for id in ran if id is not None})
    return [_last_minute(connection, cluster, life, error.time) for life in chosen[:MAXIMUM_WORKERS]]


def _chosen(error: TaskError, lives: Sequence[WorkerDetails], ran: AbstractSet[int]) -> list[WorkerDetails]:
    """Of each address the lifetimes that the task was on: an address can be reused."""
    chosen: list[WorkerDetails] = []
    for address in dict.fromkeys(error.workers):
        there = [life for life in lives if life.address == address]
        ended = [life for life in there if error.outcome != "killed" or life.ended is not None]
        chosen += [life for life in ended if life.id in ran] or (ended or there)[-1:]
    return sorted(chosen, key=lambda life: life.ended or error.time)


def _last_minute(
    connection: psycopg.Connection, cluster: int, life: WorkerDetails, erred: datetime
) -> WorkerLastMinute:
    # an end is seen from afar: one that is told just after the error may have been what caused it
    end = life.ended if life.ended is not None and life.ended <= erred + AFTER else erred
    start = end - MINUTE
    return WorkerLastMinute(
        life,
        end,
        stories.process_memory(connection, cluster, life.id, start, end),
        logs.last_lines_of_worker(connection, cluster, life.id, start, end + AFTER, MAXIMUM_LINES),
        stories.worker_events(connection, cluster, life.id, start, end + AFTER, MAXIMUM_EVENTS),
    )
