"""Reads how far the tasks of a cluster were at a point in time, by prefix and by state."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import LiteralString

import psycopg

from observatory.store.archive.scans.conditions import AtLeast, Condition
from observatory.store.maintenance.kept_seconds import kept_seconds
from observatory.store.maintenance.keyframes import (
    BEGUN_AGAIN,
    ERRED,
    MEMORY,
    UNFINISHED,
    Counted,
    counted_until,
    last_keyframe,
    seconds_until,
)
from observatory.store.queries.state import LONGEST_CLUSTER, last_samples
from observatory.store.queries.sums.state_sums import IS_FIRST
from observatory.store.reading.scanning import scanned
from observatory.store.times import from_microseconds, to_microseconds
from observatory.wire.records import TASK_STATES

PREFIX_TOTALS = "dask_scheduler_prefix_state_totals_total"
MOST_CHANGES = 50_000
"""transitions of which the tasks are told apart: some 0.2 s"""

_BETWEEN: LiteralString = "transition.cluster_id = %(cluster)s AND time > %(after)s AND time <= %(at)s"


@dataclass(frozen=True, slots=True)
class PrefixCounted:
    """What was counted of the tasks of a prefix until a time."""

    prefix: int
    name: str
    color: str
    counted: Counted


@dataclass(frozen=True, slots=True)
class Entered:
    """How often tasks of each prefix had entered each state, as the scheduler's metrics told last."""

    counts: dict[str, dict[str, int]]
    """by name of the prefix and state"""
    at: int | None
    """microseconds; None: the metrics aren't known"""


def prefixes_counted(connection: psycopg.Connection, cluster: int, at: int) -> list[PrefixCounted]:
    """Return what was counted of each prefix until `at` (microseconds), sorted by name."""
    counted = counted_until(connection, cluster, at)
    query = "SELECT id, name, color FROM prefix WHERE cluster_id = %s ORDER BY name"
    return [
        PrefixCounted(prefix, name, color, counted.get(prefix) or Counted())
        for prefix, name, color in connection.execute(query, [cluster])
    ]


def computing_seconds(
    connection: psycopg.Connection, cluster: int, start: int, stop: int
) -> dict[int, float]:
    """Return how long tasks computed that stopped in (start, stop] (microseconds): seconds by prefix."""
    if not start and (kept := kept_seconds(connection, cluster, stop)) is not None:
        return kept
    wanted = _since_keyframes(connection, cluster, [start, stop] if start else [stop])
    with scanned(connection, cluster, {"span": wanted}):
        before = seconds_until(connection, cluster, start) if start else {}
        after = seconds_until(connection, cluster, stop)
    return {prefix: max(0.0, seconds - before.get(prefix, 0.0)) for prefix, seconds in after.items()}


def _since_keyframes(
    connection: psycopg.Connection, cluster: int, instants: Sequence[int]
) -> list[Condition]:
    """The spans that `seconds_until` reads for instants (microseconds) in order; each meets one condition."""
    conditions: list[Condition] = []
    for at in instants:
        _, keyframe = last_keyframe(connection, cluster, at)
        stopped_since = AtLeast("stop", from_microseconds(min(keyframe, at)))
        begun_after = conditions[-1].stop if conditions else None
        conditions.append(Condition((stopped_since,), begun_after, from_microseconds(at + 1)))
    return conditions


def agent_since(connection: psycopg.Connection, cluster: int) -> int | None:
    """Return from when on (microseconds) an agent reported transitions; None: none did."""
    row = connection.execute("SELECT min(since) FROM agent WHERE cluster_id = %s", [cluster]).fetchone()
    return to_microseconds(row[0]) if row and row[0] else None


def entered_until(connection: psycopg.Connection, cluster: int, at: int) -> Entered:
    """Return how often tasks had entered each state until `at` (microseconds), by the last metrics.

    The scheduler's metrics have all prefixes that ever were, so that those of one time are enough.
    """
    counts: dict[str, dict[str, int]] = {}
    samples = last_samples(connection, cluster, (PREFIX_TOTALS,), at, LONGEST_CLUSTER)
    newest = max((sample.time for sample in samples), default=None)
    for sample in samples:
        if sample.time == newest:
            prefix, state = sample.labels.get("task_prefix_name", ""), sample.labels.get("state", "")
            counts.setdefault(prefix, {})[state] = int(sample.value)
    return Entered(counts, None if newest is None else to_microseconds(newest))


def state_changes(connection: psycopg.Connection, cluster: int, after: int, at: int) -> dict[str, int]:
    """Return how many more tasks were in each state at `at` than at `after` (microseconds)."""
    net = ", ".join(
        f"count(*) FILTER (WHERE finish = {code}) - count(*) FILTER (WHERE start = {code})"
        for code in range(len(TASK_STATES))
    )
    row = connection.execute(
        f"""SELECT {net}, count(*) FILTER (WHERE {IS_FIRST}) FROM transition
            WHERE {_BETWEEN} AND start <> finish""",
        {"cluster": cluster, "after": from_microseconds(after), "at": from_microseconds(at)},
    ).fetchone()
    assert row is not None
    *changes, created = row
    found = dict(zip(TASK_STATES, changes, strict=True))
    found["released"] += created
    del found["forgotten"]
    return found


def begun_again_of_earlier(
    connection: psycopg.Connection, cluster: int, after: int, at: int, prefixes: Collection[int]
) -> dict[int, tuple[int, int]]:
    """Return how many tasks that finished until `after` began again in (after, at] (µs), by prefix.

    The numbers are of tasks that had been computed, and of tasks that had erred.
    """
    rows = connection.execute(
        f"""WITH {BEGUN_AGAIN}, finished AS MATERIALIZED (
                SELECT group_id, key_rest, time FROM transition
                WHERE {_BETWEEN} AND finish IN ({MEMORY}, {ERRED})
                  AND EXISTS (SELECT FROM again)
            )
            SELECT prefix_id, count(*) FILTER (WHERE NOT had_erred), count(*) FILTER (WHERE had_erred)
            FROM again JOIN task_group ON task_group.id = group_id
            WHERE prefix_id = ANY(%(prefixes)s) AND NOT EXISTS (
                SELECT FROM finished WHERE finished.group_id = again.group_id
                  AND finished.key_rest = again.key_rest AND finished.time < again.time)
            GROUP BY prefix_id""",
        {
            "cluster": cluster,
            "after": from_microseconds(after),
            "at": from_microseconds(at),
            "prefixes": list(prefixes),
        },
    ).fetchall()
    return {prefix: (computed, erred) for prefix, computed, erred in rows}


def finished_since(
    connection: psycopg.Connection, cluster: int, after: int, at: int, prefixes: Collection[int]
) -> dict[int, dict[str, int]] | None:
    """Return the tasks of prefixes that finished since `after` and still are in memory, erred or released.

    They are counted at `at` (microseconds) by prefix and state. None: there were too many changes.
    """
    rows = connection.execute(
        f"""WITH change AS MATERIALIZED (
                SELECT prefix_id, group_id, key_rest, time, start, finish
                FROM transition JOIN task_group ON task_group.id = group_id
                WHERE {_BETWEEN} AND start <> finish AND prefix_id = ANY(%(prefixes)s)
                LIMIT %(most)s + 1
            ), task AS (
                SELECT prefix_id, (array_agg(finish ORDER BY time DESC))[1] AS state
                FROM change GROUP BY prefix_id, group_id, key_rest
                HAVING bool_or({UNFINISHED})
            )
            SELECT prefix_id, state, count(*), (SELECT count(*) FROM change) > %(most)s
            FROM task GROUP BY prefix_id, state""",
        {
            "cluster": cluster,
            "after": from_microseconds(after),
            "at": from_microseconds(at),
            "prefixes": list(prefixes),
            "most": MOST_CHANGES,
        },
    ).fetchall()
    if any(is_cut for *_, is_cut in rows):
        return None
    found: dict[int, dict[str, int]] = {prefix: {} for prefix in prefixes}
    for prefix, code, count, _ in rows:
        if code >= 0:
            found[prefix][TASK_STATES[code]] = count
    return found
