"""Tasks that were sent before a window: they have no transition in it where they hang, or go on cancelled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import psycopg

from observatory.store.queries.progress import prefixes_counted
from observatory.store.queries.windows import thread_time as store
from observatory.store.queries.windows.other_work import OtherWork
from observatory.why.cancelled import Cancelled
from observatory.why.intervals import Integers
from observatory.why.records import Transitions
from observatory.why.thread_times.assignments import PROCESSING, RELEASED
from observatory.wire.records import TASK_STATES

FORGOTTEN = TASK_STATES.index("forgotten")


@dataclass(frozen=True, slots=True)
class Earlier:
    """What happened before a window to tasks that worker threads may still have had as it began."""

    transitions: Transitions
    of_others: Integers
    """the tasks that others submitted"""

    @classmethod
    def none(cls) -> Earlier:
        return cls(Transitions.none(), np.zeros(0, np.int64))


def read_earlier(
    connection: psycopg.Connection,
    cluster: int,
    start: int,
    known: Transitions,
    cancelled: Cancelled,
    others: OtherWork,
) -> Earlier:
    """Read what happened before `start` (microseconds). `known`: all transitions since then.

    Numbers of tasks by state, which are kept, tell of which prefixes there is something to read.
    """
    prefixes: list[int] | None = _without_transitions(connection, cluster, start, known)
    states = [PROCESSING]
    if cancelled.are_there(start):
        prefixes, states = None, [PROCESSING, RELEASED, FORGOTTEN]
    if prefixes is not None and not prefixes:
        return Earlier.none()
    found = store.earlier_transitions(connection, cluster, start, prefixes, states, others)
    rows = Transitions.of(found)
    if not len(rows):
        return Earlier.none()
    steals = Transitions.of(store.steals(connection, cluster, int(rows.time.min()), start))
    of_them = steals.where(np.isin(steals.task, rows.task))
    return Earlier(rows.and_these(of_them), np.unique(rows.task[found["is_other"]]))


def _without_transitions(
    connection: psycopg.Connection, cluster: int, start: int, known: Transitions
) -> list[int]:
    """The prefixes of which more tasks were with workers at `start` than later transitions tell.

    A transition in which a client releases a task does not tell which worker had it.
    """
    order = known.by_task
    is_first = np.diff(known.task[order], prepend=known.task[order][:1] - 1) != 0
    first = order[is_first]
    leave = known.prefix[first[(known.start[first] == PROCESSING) & (known.worker[first] > 0)]]
    ids, counts = np.unique(leave, return_counts=True)
    expected = dict(zip(ids.tolist(), counts.tolist(), strict=True))
    counted = prefixes_counted(connection, cluster, start)
    return [one.prefix for one in counted if one.counted.states[PROCESSING] > expected.get(one.prefix, 0)]
