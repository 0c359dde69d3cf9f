"""Records of a window of a hundred seconds, written by hand: tasks are numbers, times are seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from observatory.why.clients import Clients
from observatory.why.intervals import Intervals
from observatory.why.records import Graph, OfWorkers, Records, Spans, Transitions, Worker
from observatory.wire.client_code.runs import ACTIVITIES
from observatory.wire.records import TASK_STATES, Action

SECOND = 1_000_000
LENGTH = 100
"""seconds of the window"""
SIZE = 1_000
"""bytes of each result"""
WAITING, QUEUED, PROCESSING, MEMORY, ERRED, RELEASED = map(
    TASK_STATES.index, ("waiting", "queued", "processing", "memory", "erred", "released")
)

Span = tuple[int, int, int, float, float, bool]
"""worker, task, action, start, stop (seconds), whether it erred"""
Transition = tuple[int, float, int, int, int]
"""task, time, state before, state after, worker"""
Activity = tuple[str, float, float]
"""of a client: name, start, stop"""


def recorded(
    workers: Sequence[Worker],
    spans: Sequence[Span] = (),
    transitions: Sequence[Transition] = (),
    transfers: Sequence[tuple[int, float, float]] = (),
    pauses: Sequence[tuple[int, float, float]] = (),
    activities: Sequence[Activity] = (),
    graphs: Sequence[float] = (),
) -> Records:
    return Records(
        0,
        LENGTH * SECOND,
        list(workers),
        Spans(
            worker=whole(row[0] for row in spans),
            task=whole(row[1] for row in spans),
            prefix=whole(10 + row[1] for row in spans),
            group=whole(10 + row[1] for row in spans),
            lane=whole(row[0] for row in spans),
            action=whole(row[2] for row in spans),
            is_error=np.array([row[5] for row in spans], np.bool_),
            is_rescheduled=np.zeros(len(spans), np.bool_),
            nbytes=whole(SIZE for _ in spans),
            times=Intervals(micro(row[3] for row in spans), micro(row[4] for row in spans)),
            recorded_start=micro(row[3] for row in spans),
            seceded=micro(row[4] for row in spans),
        ),
        Transitions(
            task=whole(row[0] for row in transitions),
            prefix=whole(10 + row[0] for row in transitions),
            time=micro(row[1] for row in transitions),
            start=whole(row[2] for row in transitions),
            finish=whole(row[3] for row in transitions),
            worker=whole(row[4] for row in transitions),
        ),
        of_workers(transfers),
        of_workers(pauses),
        clients(activities, graphs),
    )


def clients(activities: Sequence[Activity], graphs: Sequence[float] = ()) -> Clients:
    """`graphs`: when the scheduler received them."""
    times = Intervals(micro(row[1] for row in activities), micro(row[2] for row in activities))
    return Clients.of(whole(ACTIVITIES.index(row[0]) for row in activities), times, micro(sorted(graphs)))


def of_workers(rows: Sequence[tuple[int, float, float]]) -> OfWorkers:
    times = Intervals(micro(row[1] for row in rows), micro(row[2] for row in rows))
    return OfWorkers(whole(row[0] for row in rows), times)


def whole(values: Any) -> np.ndarray:
    return np.array(list(values), np.int64)


def micro(values: Any) -> np.ndarray:
    return np.array([round(value * SECOND) for value in values], np.int64)


def worker(
    id: int = 1,
    threads: int = 1,
    start: float = 0,
    stop: float = LENGTH,
    ended: bool = False,
    starting: float = 0,
    slot: str = "",
    died: bool = False,
) -> Worker:
    first, last = round(start * SECOND), round(stop * SECOND)
    before = round(min(starting, start) * SECOND)
    return Worker(id, threads, first, last, ended, slot or str(id), died, before)


def computed(task: int, start: float, stop: float, worker: int = 1, erred: bool = False) -> Span:
    return (worker, task, int(Action.COMPUTE), start, stop, erred)


def life(task: int, sent: float, finished: float, worker: int = 1, begun: float = 0) -> list[Transition]:
    """Of a task that is released at `begun`."""
    return [
        (task, begun, RELEASED, WAITING, 0),
        (task, sent, WAITING, PROCESSING, worker),
        (task, finished, PROCESSING, MEMORY, worker),
    ]


def graph(*edges: tuple[int, int], groups: Sequence[tuple[int, int]] = ()) -> Graph:
    """Edges of (task, task that it needs), and of groups, which are 10 and more."""
    return Graph(
        group=whole(10 + task for task, _ in edges),
        task=whole(task for task, _ in edges),
        needs_task=whole(needs for _, needs in edges),
        needing_group=whole(group for group, _ in groups),
        needs_group=whole(needs for _, needs in groups),
    )


# random ones
times = st.floats(-5, LENGTH + 5).map(lambda value: round(value, 3))
lengths = st.floats(0, 30).map(lambda value: round(value, 3))
worker_ids = st.integers(1, 3)
tasks = st.integers(1, 6)
spans = st.builds(
    lambda worker, task, action, start, length, erred: (worker, task, action, start, start + length, erred),
    worker_ids,
    tasks,
    st.sampled_from([int(action) for action in Action]),
    times,
    lengths,
    st.booleans(),
)
states = st.integers(0, len(TASK_STATES) - 1)
transitions = st.tuples(tasks, st.floats(0, LENGTH - 0.001), states, states, st.integers(0, 3))
stretches = st.builds(
    lambda worker, start, length: (worker, start, start + length), worker_ids, times, lengths
)
activities = st.builds(
    lambda name, start, length: (name, start, start + length), st.sampled_from(ACTIVITIES), times, lengths
)
graphs = st.lists(st.floats(0, LENGTH - 0.001).map(lambda value: round(value, 3)), max_size=4)
