"""The tasks that a finding names."""

from __future__ import annotations

import psycopg

from observatory.replay.scope import Scope
from observatory.store.queries.windows.findings import keys_of_tasks, known_tasks
from observatory.why.findings.finding import FoundTask
from observatory.why.records import Spans


def computed_tasks(connection: psycopg.Connection, scope: Scope, spans: Spans) -> list[tuple[FoundTask, int]]:
    """Return the tasks of some computations, with the size of their results in bytes.

    Without calls that raised `Reschedule`, of which there is no span.
    """
    spans = spans.where(~spans.is_rescheduled)
    lanes, starts = spans.lane.tolist(), spans.recorded_start.tolist()
    known = known_tasks(connection, scope.cluster.pk, lanes, starts)
    return [(_found(scope, spans, place, task.key), task.nbytes) for place, task in enumerate(known)]


def unfinished_tasks(
    connection: psycopg.Connection, scope: Scope, left: Spans, start: int, stop: int
) -> tuple[FoundTask, ...]:
    """Return those that ran and did not finish in [start, stop) (microseconds)."""
    tasks = left.task.tolist()
    keys = keys_of_tasks(connection, scope.cluster.pk, tasks, set(left.prefix.tolist()), start, stop)
    return tuple(_found(scope, left, place, keys[task]) for place, task in enumerate(tasks) if task in keys)


def _found(scope: Scope, spans: Spans, place: int, key: str) -> FoundTask:
    start, stop = scope.clip_seconds(spans.times.start[place] / 1e6, spans.times.stop[place] / 1e6)
    lane = max(0, int(spans.lane[place]))
    prefix, worker = int(spans.prefix[place]), int(spans.worker[place])
    return FoundTask(scope.text(key), prefix, worker, lane, float(start), float(stop))
