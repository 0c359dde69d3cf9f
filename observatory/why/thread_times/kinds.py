"""What a thread of a worker does at an instant, in the order in which the kinds are accounted for.

A kind is accounted for before those below it: a thread that could wait for data and for the scheduler at once
waits for data. docs/why.md says how each is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ThreadKind(StrEnum):
    COMPUTING = "computing"
    RECOMPUTING = "recomputing"
    FAILED = "failed"
    UNFINISHED = "unfinished"
    OTHER_RUNS = "other-runs"
    PAUSED = "paused"
    LOST = "lost"
    STARTING = "starting"
    DISK = "disk"
    SERIALIZATION = "serialization"
    TRANSFER = "transfer"
    READY = "ready"
    SCHEDULER = "scheduler"
    OTHERS = "others"
    GATHERING = "client-gathering"
    SENDING = "client-sending"
    OPTIMIZING = "client-optimizing"
    CLIENT_CODE = "client-code"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Text:
    title: str
    help: str
    needs_agent: bool = False


TEXTS = {
    ThreadKind.COMPUTING: Text(
        "computing", "Tasks that finished computed, for the first time in this window"
    ),
    ThreadKind.RECOMPUTING: Text(
        "computing again",
        "Tasks computed again whose result was lost, or not kept, after they had finished in this window",
    ),
    ThreadKind.FAILED: Text("failed attempts", "Tasks computed that erred, or raised `Reschedule`"),
    ThreadKind.UNFINISHED: Text(
        "not finished",
        "Tasks ran that did not finish in this window: they hung, were cancelled, or go on",
        True,
    ),
    ThreadKind.OTHER_RUNS: Text(
        "tasks of other runs",
        "Tasks computed that other clients submitted than the one that opened this run from code",
        True,
    ),
    ThreadKind.LOST: Text(
        "lost with a worker", "Tasks had been sent to a worker that died before they finished", True
    ),
    ThreadKind.STARTING: Text(
        "no worker yet",
        "The process of the worker had begun, and the scheduler did not know the worker yet. On the critical "
        "path also: there was no worker",
        True,
    ),
    ThreadKind.PAUSED: Text("paused", "The worker was paused, because its memory was nearly full"),
    ThreadKind.DISK: Text("disk", "Idle, while the worker read or wrote spilled results"),
    ThreadKind.SERIALIZATION: Text(
        "(de)serialization", "Idle, while a task or its data was serialized or deserialized"
    ),
    ThreadKind.TRANSFER: Text(
        "data on its way", "Idle: tasks were there, and the worker received data from other workers", True
    ),
    ThreadKind.READY: Text(
        "sent, not begun",
        "Idle: tasks had been sent here and had not begun, and no data was on its way. "
        "The event loop of the worker, or the way there, is slow",
        True,
    ),
    ThreadKind.SCHEDULER: Text(
        "not sent yet",
        "Idle: the scheduler had tasks that could run, and had not sent them, or it had not heard yet of "
        "results that they needed",
        True,
    ),
    ThreadKind.OTHERS: Text(
        "waiting for other tasks",
        "Idle: the tasks that were left depended on tasks that still ran elsewhere",
    ),
    ThreadKind.GATHERING: Text(
        "client: gathering", "Nothing to do: the client fetched results, in a run opened from code", True
    ),
    ThreadKind.SENDING: Text(
        "client: sending the graph",
        "Nothing to do: the client packed a graph, or it was on its way to the scheduler, in a run opened "
        "from code",
        True,
    ),
    ThreadKind.OPTIMIZING: Text(
        "client: optimizing", "Nothing to do: the client optimized a graph, in a run opened from code", True
    ),
    ThreadKind.CLIENT_CODE: Text(
        "client: own code",
        "Nothing to do: the client's own code ran, such as what builds a graph, or it waited for something "
        "else than tasks, such as a method of an actor; in a run opened from code",
        True,
    ),
    ThreadKind.NOTHING: Text("nothing to do", "Idle: the cluster had no task. The client had not sent any"),
}
KINDS = tuple(ThreadKind)
OF_CLIENTS = (ThreadKind.GATHERING, ThreadKind.SENDING, ThreadKind.OPTIMIZING, ThreadKind.CLIENT_CODE)
"""what there was nothing to do for, where a client's run was open"""
FINISHED = (ThreadKind.COMPUTING, ThreadKind.RECOMPUTING)
"""the thread ran a task that finished"""
OWN = (*FINISHED, ThreadKind.FAILED, ThreadKind.UNFINISHED)
"""the thread ran a task of the run"""
BUSY = (*OWN, ThreadKind.OTHER_RUNS)
"""the thread ran a task"""
