"""What collectors know of their targets, in the rows of these and of their clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from operator import attrgetter

from django.db import connection as django_connection

TYPES = {"int": "int8", "str": "text", "float": "float8", "datetime": "timestamptz"}
"""of the columns, by the annotation of a field, which may be null"""


@dataclass(frozen=True, slots=True)
class TargetRow:
    """What is stored of a target, and of the cluster that it shows."""

    target: int
    last_error: str
    stream: str
    clock_offset: float
    """seconds that the scheduler's clock is ahead"""
    last_seen: datetime | None
    """None: nothing has answered yet"""
    series_count: int | None
    series_refused: int | None
    cost: float
    """of its observation, by which collectors share targets"""
    cluster: int | None
    """None: the target shows none"""
    cluster_seen: datetime | None
    """when the cluster's scheduler last answered; None: it hasn't yet"""
    identity_interval: float
    metrics_interval: float
    """seconds between two polls and two scrapes"""


_values = attrgetter(*(field.name for field in fields(TargetRow)))  # astuple() would copy each value
COLUMNS = {field.name: TYPES[str(field.type).split(" ")[0]] for field in fields(TargetRow)}
ARRAYS = ", ".join(f"%s::{type}[]" for type in COLUMNS.values())
UPDATE = f"""
    WITH status ({", ".join(COLUMNS)}) AS (SELECT * FROM unnest({ARRAYS})),
    updated AS (
        UPDATE clusters_target AS target SET
            last_error = status.last_error, stream = status.stream, clock_offset = status.clock_offset,
            cost = status.cost,
            last_seen = coalesce(status.last_seen, target.last_seen),
            series_count = coalesce(status.series_count, target.series_count),
            series_refused = coalesce(status.series_refused, target.series_refused)
        FROM status WHERE target.id = status.target AND target.lease_holder = %s
        RETURNING target.id)
    UPDATE clusters_cluster AS cluster SET
        last_seen = status.cluster_seen,
        identity_interval = status.identity_interval, metrics_interval = status.metrics_interval
    FROM status JOIN updated ON updated.id = status.target
    WHERE cluster.id = status.cluster AND status.cluster_seen IS NOT NULL"""


def update_targets(holder: str, statuses: Sequence[TargetRow]) -> None:
    """Stores rows, but not of targets whose lease another collector holds. Raises django.db.Error."""
    columns = zip(*map(_values, statuses), strict=True)
    with django_connection.cursor() as cursor:
        cursor.execute(UPDATE, [*map(list, columns), holder])
