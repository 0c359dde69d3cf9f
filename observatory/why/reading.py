"""Reads the records from which the time of a window's threads is accounted for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import psycopg

from observatory.store.queries import agents
from observatory.store.queries.fetch import Array
from observatory.store.queries.windows import thread_time as store
from observatory.store.queries.windows.other_work import NONE, OtherWork
from observatory.store.queries.windows.tasks.dependencies import needs_of_groups, needs_of_tasks
from observatory.store.queries.windows.workers.readiness import ready_times
from observatory.why.cancelled import read_cancelled
from observatory.why.clients import Clients
from observatory.why.clocks import corrected
from observatory.why.earlier import read_earlier
from observatory.why.intervals import Flags, Integers, Intervals
from observatory.why.records import Graph, OfWorkers, Records, Spans, Transitions, Worker
from observatory.why.rescheduled import rescheduled_computations
from observatory.why.seceded import inferred, with_rest
from observatory.why.thread_times.assignments import PROCESSING, RELEASED
from observatory.why.unfinished import Unfinished, unfinished_computations
from observatory.wire.records import Action, Status

MOST_EDGES = 5_000_000
"""between tasks, that are read"""


def read_records(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, others: OtherWork = NONE
) -> Records:
    """Read the records of [start, stop) (microseconds), with the times of workers corrected (clocks.py)."""
    rows = store.transitions(connection, cluster, start, stop, others)
    records = _records(connection, cluster, start, stop)
    found = corrected(_with_transitions(connection, cluster, records, rows))
    found = replace(found, spans=inferred(found.spans, found.workers))
    known, of_others = found, Transitions.none()
    if others:
        of_others = Transitions.of(store.transitions_of_others(connection, cluster, start, stop, others))
        known = replace(found, transitions=found.transitions.and_these(of_others))
    calls = _rescheduled(connection, cluster, known)
    if len(calls):
        spans = _in_order(found.spans.and_these(calls))
        found, known = replace(found, spans=spans), replace(known, spans=spans)
    left, left_by_others = _unfinished(connection, cluster, known, of_others.task, others)
    found = _without(others, found, left_by_others) if others else found
    reported = not len(found.spans) and agents.has_agent(connection, cluster)
    return replace(found, unfinished=left.spans, withdrawn=left.withdrawn, agent_reported=reported)


def _rescheduled(connection: psycopg.Connection, cluster: int, known: Records) -> Spans:
    """Read which calls raised `Reschedule`: only where some task was released while a worker had it."""
    rows = known.transitions
    released = rows.time[(rows.start == PROCESSING) & (rows.finish == RELEASED)]
    if not len(released):
        return Spans.none()
    first, last = int(released.min()), int(released.max())
    found = store.rescheduled(connection, cluster, first, last + 1)
    if not len(found["time"]):
        return Spans.none()
    return rescheduled_computations(known, found["task"], found["group"].astype(np.int64), found["time"])


def read_accounted(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, others: OtherWork = NONE
) -> Records:
    """Read the records of [start, stop) (microseconds), how workers started, and what clients did."""
    return _accounted(connection, cluster, read_records(connection, cluster, start, stop, others), others)


def read_for_path(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, others: OtherWork = NONE
) -> tuple[Records, Graph]:
    """Read what a critical path is found from."""
    records = read_accounted(connection, cluster, start, stop, others)
    return records, read_graph(connection, cluster, records)


def read_graph(connection: psycopg.Connection, cluster: int, records: Records) -> Graph:
    """Read what the tasks that computed needed: of over MOST_EDGES edges, those between groups alone."""
    groups = np.unique(records.spans.group).tolist()
    of_tasks = needs_of_tasks(connection, cluster, groups, records.stop, MOST_EDGES + 1)
    if len(of_tasks["task"]) > MOST_EDGES:
        of_tasks = {name: column[:0] for name, column in of_tasks.items()}
    of_groups = needs_of_groups(connection, cluster, groups, records.stop)
    return Graph(
        of_tasks["group"].astype(np.int64),
        of_tasks["task"],
        of_tasks["needs_task"],
        of_groups["group"].astype(np.int64),
        of_groups["needs_group"].astype(np.int64),
    )


def _records(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> Records:
    """The records but for transitions."""
    ready = ready_times(connection, cluster, start, stop)
    lifetimes = store.lifetimes(connection, cluster, start, stop)
    return Records(
        start,
        stop,
        [_worker(one, start, stop, ready.get(one.id, one.started)) for one in lifetimes],
        with_rest(_in_order(_spans(store.spans(connection, cluster, start, stop)))),
        Transitions.none(),
        _of_workers(store.received(connection, cluster, start, stop)),
        _of_workers(store.pauses(connection, cluster, start, stop)),
    )


def _spans(columns: Mapping[str, Array]) -> Spans:
    return Spans(
        worker=columns["worker"].astype(np.int64),
        task=columns["task"],
        prefix=columns["prefix"].astype(np.int64),
        group=columns["group"].astype(np.int64),
        lane=columns["lane"].astype(np.int64),
        action=columns["action"].astype(np.int64),
        is_error=columns["status"] == Status.ERROR,
        is_rescheduled=np.zeros(len(columns["status"]), np.bool_),
        nbytes=columns["nbytes"],
        times=Intervals.of(columns["start"], columns["stop"]),
        recorded_start=columns["start"],
        seceded=columns["stop"].astype(np.int64),
    )


def _in_order(spans: Spans) -> Spans:
    """By their start: what is looked up at their times is many times as fast then, where there are many."""
    return spans.where(np.argsort(spans.times.start, kind="stable"))


def _with_transitions(
    connection: psycopg.Connection, cluster: int, records: Records, rows: Mapping[str, Array]
) -> Records:
    """With those that work stealing made, in the order in which their states are looked at."""
    steals = Transitions.of(store.steals(connection, cluster, records.start, records.stop))
    found = Transitions.of(rows).and_these(steals)
    return replace(records, transitions=found.where(found.by_task))


def _unfinished(
    connection: psycopg.Connection, cluster: int, known: Records, of_others: Integers, others: OtherWork
) -> tuple[Unfinished, Spans]:
    """What did not finish of the run's own tasks, and of others'; `of_others`: tasks that are others'."""
    cancelled = read_cancelled(connection, cluster, known.start, known.stop)
    earlier = read_earlier(connection, cluster, known.start, known.transitions, cancelled, others)
    found = unfinished_computations(known, earlier, cancelled)
    is_other = np.isin(found.spans.task, np.concatenate([of_others, earlier.of_others]))
    return found.where(~is_other), found.spans.where(is_other)


def _without(others: OtherWork, records: Records, unfinished: Spans) -> Records:
    """With the computations of others' tasks apart; `unfinished`: those that did not finish."""
    is_other = _is_other(records.spans, others)
    computing = records.spans.where(is_other & (records.spans.action == Action.COMPUTE))
    computing = computing.and_these(unfinished)
    return replace(
        records,
        spans=records.spans.where(~is_other),
        others=OfWorkers(computing.worker, computing.in_pool),
    )


def _is_other(spans: Spans, others: OtherWork) -> Flags:
    """As OtherWork.includes does in SQL."""
    is_shared = np.isin(spans.group, others.shared) & np.isin(spans.task, others.tasks)
    return np.isin(spans.group, others.groups) | is_shared


def _accounted(connection: psycopg.Connection, cluster: int, records: Records, others: OtherWork) -> Records:
    start, stop = records.start, records.stop
    begun = {id: round(time * 1e6) for id, time in store.process_starts(connection, cluster, start, stop)}
    workers = [_started(worker, max(start, begun.get(worker.id, worker.begun))) for worker in records.workers]
    return replace(records, workers=workers, clients=read_clients(connection, cluster, start, stop, others))


def read_clients(
    connection: psycopg.Connection, cluster: int, start: int, stop: int, others: OtherWork = NONE
) -> Clients:
    """Read what clients did in [start, stop) (microseconds)."""
    found = store.client_activities(connection, cluster, start, stop, others)
    received = store.graphs_received(connection, cluster, start, stop, others)["time"]
    times = Intervals.of(found["start"], found["stop"])
    knows_waiting = store.clients_waited(connection, cluster, start, stop)
    return Clients.of(found["activity"].astype(np.int64), times, received, knows_waiting)


def _worker(lifetime: store.WorkerLifetime, start: int, stop: int, ready: float) -> Worker:
    """`ready`: when it took tasks (seconds)."""
    ended = stop if lifetime.ended is None else min(stop, round(lifetime.ended * 1e6))
    joined, begun = (min(ended, max(start, round(time * 1e6))) for time in (lifetime.started, ready))
    return Worker(
        lifetime.id,
        lifetime.threads,
        begun,
        ended,
        ended < stop,
        lifetime.slot,
        lifetime.has_died,
        begun - joined,
        resources=_amounts(lifetime.resources),
    )


def _amounts(resources: Any) -> dict[str, float]:
    items = resources.items() if isinstance(resources, Mapping) else ()
    return {name: amount for name, amount in items if isinstance(amount, int | float)}


def _started(worker: Worker, begun: int) -> Worker:
    """A worker whose process began at `begun`."""
    return replace(worker, starting=max(0, worker.start - begun))


def _of_workers(columns: Mapping[str, Array]) -> OfWorkers:
    return OfWorkers(columns["worker"].astype(np.int64), Intervals.of(columns["start"], columns["stop"]))
