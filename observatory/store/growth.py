"""How a batch changes the extent of its cluster, and which cached tiles it makes wrong."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import psycopg

from observatory.store.accepted import Accepted, Times
from observatory.store.extents import COLUMNS, Extent
from observatory.wire.layers import LAYERS
from observatory.wire.records import Action

SETTLING = 30.0
"""seconds before `committed` from which on the past is taken for closed (docs/architecture.md)"""


@dataclass(frozen=True, slots=True)
class Locked:
    """The extent before the batch, locked for its transaction: one writer of a cluster at a time."""

    extent: Extent
    stamp: str
    """the transaction that wrote it last"""


@dataclass(frozen=True, slots=True)
class Grown:
    """The extent with the batch; `stamp` is what the next Locked will say."""

    extent: Extent
    stamp: str
    transaction: str
    """what pg_xact_status knows the transaction by"""


def lock_extent(connection: psycopg.Connection, cluster: int) -> Locked:
    query = f"SELECT {COLUMNS}, xmin::text FROM extent WHERE cluster_id = %s FOR UPDATE"
    row = connection.execute(query, [cluster]).fetchone()
    if row is None:
        connection.execute("INSERT INTO extent (cluster_id) VALUES (%s) ON CONFLICT DO NOTHING", [cluster])
        row = connection.execute(query, [cluster]).fetchone()
        assert row is not None
    return Locked(Extent.of(row[:-1]), row[-1])


def grow(connection: psycopg.Connection, locked: Locked, accepted: Accepted, workers: int) -> Grown:
    """Adds the batch, and its `workers` new lifetimes, to the extent; drops the tiles that it makes wrong."""
    before = locked.extent
    late = drop_tiles(connection, accepted, before.committed - SETTLING)
    times = np.concatenate([accepted.starts, accepted.stops, accepted.sampled, accepted.happened])
    first, last = (times.min(), times.max()) if len(times) else (before.first, before.last)
    row = connection.execute(
        f"""UPDATE extent SET first = %s, last = %s, committed = %s, version = version + %s,
                sequence = sequence + 1, spans = spans + %s, tasks = tasks + %s, errors = errors + %s, workers = workers + %s
            WHERE cluster_id = %s RETURNING {COLUMNS}, xmin::text, pg_current_xact_id()::text""",
        [
            _time(min(before.first or first, first)),
            _time(max(before.last, last)),
            _time(max(before.committed, accepted.committed)),
            int(late),
            len(accepted.spans),
            sum(span.action == Action.COMPUTE for span in accepted.spans),
            max(accepted.errors, 0),
            workers,
            accepted.cluster,
        ],
    ).fetchone()
    assert row is not None
    return Grown(Extent.of(row[:-2]), row[-2], row[-1])


def drop_tiles(connection: psycopg.Connection, accepted: Accepted, closed: float) -> bool:
    """Drops cached tiles that records before `closed` (seconds) belong to; returns whether any were late."""
    late = False
    for layers, starts, stops in (
        (["spans", "prefixes"], accepted.starts, accepted.stops),
        (list(LAYERS), accepted.sampled, accepted.sampled),
        (["events"], accepted.happened, accepted.happened),
    ):
        window = _window(starts, stops, closed)
        if window is None:
            continue
        late = True
        connection.execute(
            """DELETE FROM tile WHERE cluster_id = %s AND layer = ANY(%s)
               AND index << (level + 9) <= %s AND (index + 1) << (level + 9) > %s""",
            [accepted.cluster, layers, int(window[1] * 1e6) + 1, int(window[0] * 1e6) - 1],
        )
    return late


def _window(starts: Times, stops: Times, closed: float) -> tuple[float, float] | None:
    """First start and last stop of what starts before `closed`."""
    late = starts < closed
    return (float(starts[late].min()), float(stops[late].max())) if late.any() else None


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
