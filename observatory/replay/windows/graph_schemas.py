"""Schemas of a timeline's graphs; schemas.py says how they are held against real documents.

Groups and tasks have many rows, so these are columns: lists of equal length.
"""

from __future__ import annotations

from ninja import Schema

from observatory.replay.answers.shared_fields import shared


@shared(
    "group",
    "prefix",
    "name",
    "tasks",
    "computed",
    "computed_before",
    "seconds",
    "longest",
    "erred",
    "nbytes",
    "before",
    "waiting",
    "queued",
    "processing",
)
class GraphGroup(Schema):
    """A group of tasks. Times are seconds of all tasks within the window; null: without the agent."""

    group: int
    prefix: int
    name: str
    tasks: float | None
    """that graphs brought by the window's end, without those forgotten before a run; null: not known"""
    computed: float
    """computations that ended in the window; failed attempts count as well"""
    computed_before: float
    """those that ended before it, of a run since its start"""
    seconds: float
    """computing time"""
    longest: float | None
    erred: float
    """of `computed`"""
    nbytes: float
    """sizes of the results"""
    before: list[float]
    """tasks in each state at the window's start, in the order of the states; empty: not known"""
    waiting: float | None
    """time in which its tasks waited for tasks that they need"""
    queued: float | None
    """time in which they were ready, and no worker had room: `queued` and `no-worker`"""
    processing: float | None
    """time in which they were on a worker: computing, or waiting for data or for a thread"""


@shared("task", "needed", "edges")
class GroupEdges(Schema):
    """`task` needs `needed`: positions in `groups`. `edges` is the number of pairs of tasks."""

    task: list[int]
    needed: list[int]
    edges: list[float]


@shared("start", "width", "bins", "group", "bin", "state", "change")
class StateChanges(Schema):
    """How many more tasks of a group were in a state after a bin than before it."""

    start: float
    width: float
    """of a bin, in seconds"""
    bins: int
    group: list[int]
    """position in `groups`"""
    bin: list[int]
    state: list[int]
    """position in Dask's states"""
    change: list[float]


@shared("start", "width", "bins", "group", "bin", "tasks", "seconds")
class GroupWork(Schema):
    """What the tasks of a group computed in each bin."""

    start: float
    width: float
    bins: int
    group: list[int]
    """position in `groups`"""
    bin: list[int]
    tasks: list[float]
    """that ended"""
    seconds: list[float]


@shared(
    "start",
    "stop",
    "groups",
    "others",
    "edges",
    "has_all_edges",
    "changes",
    "work",
    "has_states",
    "is_complete",
)
class GroupGraph(Schema):
    """The groups whose tasks changed, or were neither done nor forgotten, in a window, and their edges."""

    start: float
    stop: float
    """what of the window was recorded (seconds)"""
    groups: list[GraphGroup]
    """in the order of their appearance; of more than 2,500 those that took longest"""
    others: int
    """groups that are left out"""
    edges: GroupEdges
    has_all_edges: bool
    changes: StateChanges
    work: GroupWork
    has_states: bool
    """whether transitions were recorded"""
    is_complete: bool
    """false: there are so many groups that states of the smallest are not kept"""


@shared("task", "needed")
class TaskEdges(Schema):
    """`task` needs `needed`: positions in `keys`."""

    task: list[int]
    needed: list[int]


@shared("task", "time", "state")
class TaskChanges(Schema):
    """The changes of tasks' states, in order of time."""

    task: list[int]
    time: list[float]
    """seconds after the window's start"""
    state: list[int]
    """the new one, a position in Dask's states"""


@shared(
    "start",
    "stop",
    "most",
    "is_too_large",
    "has_states",
    "keys",
    "prefix",
    "group",
    "seconds",
    "before",
    "changes",
    "edges",
    "has_all_edges",
)
class TaskGraph(Schema):
    """The tasks that changed their state in a window, and their edges."""

    start: float
    stop: float
    most: int
    """tasks that a graph can have"""
    is_too_large: bool
    """true: there are more, and nothing else is told"""
    has_states: bool
    """whether transitions were recorded; else the states are those that computations tell of"""
    keys: list[str]
    prefix: list[int]
    group: list[int]
    seconds: list[float]
    """computing time of those that started in the window"""
    before: list[int]
    """states at the window's start; -1: not there yet"""
    changes: TaskChanges
    edges: TaskEdges
    has_all_edges: bool
