"""Records that an agent dropped. They become events."""

from __future__ import annotations

from observatory.wire.dropped_records import DropReason
from observatory.wire.kind import Field, Importance, Kind, Type

AGENTS_REASONS = (
    DropReason.BUFFER_FULL,
    DropReason.SPOOL_FULL,
    DropReason.REFUSED,
    DropReason.DAMAGED,
    DropReason.BROKEN,
)

RECORD_KIND = Kind(
    meaning="Records that the agent dropped.",
    importance=Importance.FAILURES,
    fields=(
        Field("first", Type.TIME, "time of the oldest", "s", "the agent's own"),
        Field("last", Type.TIME, "time of the newest", "s", "the agent's own"),
        Field("kind", Type.NAME, "kind of the records", "", "the agent's own"),
        Field("count", Type.COUNT, "number of records", "", "the agent's own"),
        Field(
            "reason",
            Type.NAME,
            "; ".join(f"{reason}: {reason.text}" for reason in AGENTS_REASONS),
            "",
            "the agent's own",
        ),
    ),
    has_table=False,
)
