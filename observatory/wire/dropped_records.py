"""Records that were dropped before they were stored: why, and what is missing then.

To add a reason, add a member to `DropReason`. The agent, the collector, the ingest endpoint, the browser and
docs/wire-format.md take reasons, texts and names from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class DropReason(str, Enum):
    """The value is what a record or an event has as its reason; `text` is read by people."""

    text: str

    def __new__(cls, value: str, text: str) -> DropReason:
        reason = str.__new__(cls, value)
        reason._value_ = value
        reason.text = text
        return reason

    BUFFER_FULL = "buffer-full", "they arrived faster than the agent could encode them"
    SPOOL_FULL = "spool-full", "the agent's memory and disk space for records were full"
    DAMAGED = "damaged", "the agent's file of them was damaged"
    REFUSED = "refused", "the server refused them"
    BROKEN = "broken", "the agent had an error"
    WRONG_CLOCK = "wrong-clock", "their times are outside of their worker's life, so a clock is wrong"
    DATABASE_UNAVAILABLE = "database-unavailable", "the database was unavailable for too long"
    DATABASE_SLOW = "database-slow", "the database was too slow"
    DATABASE_REFUSED = "database-refused", "the database refused them"
    QUARANTINED = "quarantined", "they could not be stored; the server keeps them in quarantine"
    COLLECTOR_OVERLOADED = "collector-overloaded", "the collector had more work than it could do"

    __str__ = str.__str__


class Concerns(str, Enum):
    """The charts in which dropped records are a gap."""

    TASKS = "tasks"
    SAMPLES = "samples"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Missing:
    records: str
    """plural"""
    concerns: Concerns = Concerns.OTHER


UNDRAWN_SAMPLE = "undrawn-sample"
"""Dropped samples of metrics that no chart draws."""

MISSING: Mapping[str, Missing] = {
    "client_activity": Missing("activities of clients"),
    "computation": Missing("computations"),
    "dependency": Missing("dependencies of tasks"),
    "dropped": Missing("reports of dropped records"),
    "error": Missing("errors", Concerns.TASKS),
    "event": Missing("events"),
    "fine_performance": Missing("fine performance metrics"),
    "gone": Missing("ends of workers", Concerns.TASKS),
    "group_dependency": Missing("dependencies of groups"),
    "log": Missing("log lines"),
    "profile": Missing("profiles"),
    "run": Missing("runs"),
    "sample": Missing("samples", Concerns.SAMPLES),
    "shuffle": Missing("reports of shuffles"),
    "span": Missing("spans", Concerns.TASKS),
    "spill": Missing("reports of spilled results"),
    "steal": Missing("stolen tasks"),
    "task": Missing("tasks", Concerns.TASKS),
    "transfer": Missing("transfers"),
    "transition": Missing("transitions", Concerns.TASKS),
    UNDRAWN_SAMPLE: Missing("samples of metrics without a chart"),
    "worker": Missing("changes of workers", Concerns.TASKS),
}
"""By kind of record."""


def dropped_message(kind: str, count: int, reason: str) -> str:
    """Says what was dropped and why. `kind` and `reason` may be of another version."""
    known = MISSING.get(kind)
    records = known.records if known is not None else f"records of kind {kind}"
    texts = {str(reason): reason.text for reason in DropReason}
    return f"{count:,} {records} were dropped: {texts.get(reason, reason)}"


def dropped_detail(kind: str, count: int, reason: str, first: float, last: float) -> dict[str, object]:
    """The detail of an event `records-dropped`. Times are those of the oldest and the newest record (s)."""
    return {
        "message": dropped_message(kind, count, reason),
        "first": first,
        "last": last,
        "kind": kind,
        "count": count,
        "reason": str(reason),
    }
