"""The events that rules can count: every kind of the timeline (wire/event_kinds.py), and those declared here.

To add one, add an entry here and its function in evaluation/window/events.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from observatory.wire.event_kinds import (
    AGENT_HEARD,
    AGENT_SILENT,
    COLLECTOR_BEHIND,
    COLLECTOR_CAUGHT_UP,
    EVENT_KINDS,
    WORKER_DISAPPEARED,
    WORKER_LOST,
)

ERRORS, LOGS = "errors", "logs"
"""sources that are tables of their own; any other source is a kind of event"""


@dataclass(frozen=True, slots=True)
class RuleEvent:
    name: str
    label: str
    sources: tuple[str, ...]
    """the records that it is derived from: kinds of events, ERRORS, LOGS"""
    is_lasting: bool = False
    """it is a state with a beginning and an end, and is not counted over a window"""
    is_of_cluster: bool = False
    """it concerns the cluster as a whole, even in a condition for each worker"""
    is_single: bool = False
    """a cluster has one at a time at most"""
    has_text: bool = True
    """a pattern can be searched in it"""


TASK_ERRED = RuleEvent("task-erred", "a task erred", (ERRORS, "tasks-erred"))
KILLED_WORKER = RuleEvent("killed-worker", "a task failed because its workers died (KilledWorker)", (ERRORS,))
WORKER_PAUSED = RuleEvent(
    "worker-paused", "a worker is paused", ("worker-status",), is_lasting=True, has_text=False
)
UNREACHABLE = RuleEvent(
    "unreachable",
    "the scheduler doesn't answer",
    ("scheduler-unreachable", "scheduler-reachable"),
    is_lasting=True,
    is_of_cluster=True,
    is_single=True,
    has_text=False,
)
AGENT_SILENCE = RuleEvent(
    "agent-silence",
    "the agent is silent",
    (AGENT_SILENT, AGENT_HEARD),
    is_lasting=True,
    is_of_cluster=True,
    is_single=True,
)
COLLECTOR_LAG = RuleEvent(
    "collector-lag",
    "the collector is behind",
    (COLLECTOR_BEHIND, COLLECTOR_CAUGHT_UP),
    is_lasting=True,
    is_of_cluster=True,
    is_single=True,
)
ENDED_WITH_ERRORS = RuleEvent(
    "ended-with-errors",
    "the cluster ended with errors, or was lost",
    (),
    is_of_cluster=True,
    is_single=True,
    has_text=False,
)
LOG = RuleEvent("log", "a log line matches", (LOGS,))
RUN_SLOWER = RuleEvent(
    "run-slower", "a run was slower than earlier runs of the same name", (), is_of_cluster=True
)

LOST_WORKER = RuleEvent(WORKER_LOST, "a worker was lost or disappeared", (WORKER_LOST, WORKER_DISAPPEARED))

DERIVED_EVENTS = (
    LOST_WORKER,
    TASK_ERRED,
    KILLED_WORKER,
    WORKER_PAUSED,
    UNREACHABLE,
    AGENT_SILENCE,
    COLLECTOR_LAG,
    ENDED_WITH_ERRORS,
    LOG,
    RUN_SLOWER,
)
RECORDED_EVENTS = tuple(
    RuleEvent(kind.name, kind.label, (kind.name,))
    for kind in EVENT_KINDS.values()
    if kind.name != LOST_WORKER.name
)
RULE_EVENTS = {event.name: event for event in (*DERIVED_EVENTS, *RECORDED_EVENTS)}
