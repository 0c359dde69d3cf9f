"""Keyframes: tasks by prefix, counted until a time and kept, so that the state at any time takes few rows.

Records since a keyframe are found by their time, among those of all clusters. So a keyframe also says until
when its counts hold, which is moved while nothing happens in its cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from operator import add
from typing import LiteralString

import psycopg

from observatory.store.queries.extents import Extent, read_extent
from observatory.store.queries.sums.state_sums import IS_FIRST
from observatory.store.times import from_microseconds, to_microseconds
from observatory.wire.records import TASK_STATES, UNFINISHED_STATES, Action, Status

SHIFT = 20
INTERVAL = 1 << SHIFT
"""microseconds; keyframes are at multiples of it: 1.05 s"""
MANY_RECORDS = 5_000
"""spans and transitions after which a keyframe is made, or ten times as many as it has prefixes"""
RECORDS_A_PREFIX = 10
AGE = 600_000_000
"""microseconds after a keyframe, from which on one is made after fewer records, too"""
EXTENSION = 60_000_000
"""microseconds, the least by which the time is moved until which a keyframe holds"""

COUNTS = ("finished", "scraped", "computed", "erred", "computed_again", "erred_again")
"""that a keyframe has of each prefix before the numbers by state"""
WIDTH = len(COUNTS) + len(TASK_STATES)
"""of a prefix; keyframes with other counts are of another version and are not read"""
RELEASED, MEMORY, ERRED = (TASK_STATES.index(state) for state in ("released", "memory", "erred"))
UNFINISHED_CODES = ", ".join(str(TASK_STATES.index(state)) for state in UNFINISHED_STATES)
CASCADE = 5
"""seconds within which all transitions of one stimulus are"""
UNFINISHED = f"start IN ({UNFINISHED_CODES})"
"""of a transition: the task was to be computed before it"""

_SPANS: LiteralString = """
    FROM span
    WHERE cluster_id = %(cluster)s AND start <= %(at)s AND stop <= %(at)s AND stop > %(after)s
      AND action = %(compute)s"""
_FINISHED: LiteralString = f"""
    SELECT prefix_id, count(*) FILTER (WHERE status = %(ok)s),
           count(*) FILTER (WHERE status = %(ok)s AND stop < coalesce(
               (SELECT min(since) FROM agent WHERE cluster_id = %(cluster)s), 'infinity')),
           sum(extract(epoch FROM stop - start))::float8
    {_SPANS} GROUP BY prefix_id"""
_TRANSITIONS: LiteralString = """
    FROM transition
    WHERE cluster_id = %(cluster)s AND time <= %(at)s AND time > %(after)s AND start <> finish"""
_NET = ", ".join(
    f"count(*) FILTER (WHERE finish = {state}) - count(*) FILTER (WHERE start = {state})"
    + (f" + count(*) FILTER (WHERE {IS_FIRST})" if state == RELEASED else "")
    for state in range(len(TASK_STATES))
)
_CHANGED = f"""
    SELECT group_id, count(*) FILTER (WHERE finish = {MEMORY} AND {UNFINISHED}),
           count(*) FILTER (WHERE finish = {ERRED}), {_NET}
    {_TRANSITIONS} GROUP BY group_id"""


BEGUN_AGAIN = f"""
    begun AS MATERIALIZED (
        SELECT group_id, key_rest, time, stimulus FROM transition
        WHERE cluster_id = %(cluster)s AND time > %(after)s AND time <= %(at)s
            AND start = {RELEASED} AND finish IN ({UNFINISHED_CODES}) AND stimulus NOT LIKE 'update-graph%%'
    ), released AS (
        SELECT DISTINCT ON (begun.group_id, begun.key_rest, begun.time)
            begun.group_id, begun.key_rest, begun.time, earlier.start AS state
        FROM begun LEFT JOIN transition AS earlier ON earlier.cluster_id = %(cluster)s
            AND earlier.time > %(after)s - interval '{CASCADE} s' AND earlier.time <= %(at)s
            AND earlier.group_id = begun.group_id AND earlier.key_rest = begun.key_rest
            AND earlier.stimulus = begun.stimulus AND earlier.time <= begun.time
            AND earlier.finish = {RELEASED} AND earlier.start <> {RELEASED}
        ORDER BY begun.group_id, begun.key_rest, begun.time, earlier.time DESC
    ), again AS (
        SELECT group_id, key_rest, time, coalesce(state = {ERRED}, false) AS had_erred FROM released
        WHERE state IS NULL OR state IN ({MEMORY}, {ERRED})
    )"""
"""SQL of the tasks that began again after they had been computed or had erred: their results were lost, or
somebody wanted another attempt. A task begins for the first time when a graph brings it. What was released
by the same stimulus before tells the state that it was in; without that its result had been released."""


@dataclass(slots=True)
class Counted:
    """What was counted of the tasks of a prefix."""

    finished: int = 0
    """spans of tasks that finished"""
    scraped: int = 0
    """those before the cluster's agent started; without an agent, all"""
    computed: int = 0
    """tasks that came into memory since, as their transitions tell"""
    erred: int = 0
    """tasks that erred, by their transitions"""
    computed_again: int = 0
    erred_again: int = 0
    """tasks that had been computed, or had erred, and began again"""
    states: list[int] = field(default_factory=lambda: [0] * len(TASK_STATES))
    """by position in TASK_STATES: how many more tasks are in that state"""
    seconds: float = 0.0
    """computing time of all attempts"""

    @property
    def has_transitions(self) -> bool:
        return bool(self.computed or self.erred or any(self.states))

    @property
    def unfinished(self) -> dict[str, int]:
        """The tasks that are to be computed by state, by their transitions."""
        return {state: max(0, self.states[TASK_STATES.index(state)]) for state in UNFINISHED_STATES}

    def add(self, computed: int, erred: int, states: Iterable[int]) -> None:
        self.computed += computed
        self.erred += erred
        self.states = list(map(add, self.states, states))


_BEGUN_AGAIN = f"""
    WITH {BEGUN_AGAIN}
    SELECT prefix_id, count(*) FILTER (WHERE NOT had_erred), count(*) FILTER (WHERE had_erred)
    FROM again JOIN task_group ON task_group.id = group_id GROUP BY prefix_id"""

ByPrefix = dict[int, Counted]
"""by id of the prefix"""


def counted_until(connection: psycopg.Connection, cluster: int, at: int) -> ByPrefix:
    """Count the tasks of each prefix until `at` (microseconds): the last keyframe, and the records since."""
    counted, after = last_keyframe(connection, cluster, at)
    if after >= at:
        return counted
    parameters = _parameters(connection, cluster, after, at)
    for prefix, finished, scraped, seconds in connection.execute(_FINISHED, parameters).fetchall():
        found = counted.setdefault(prefix, Counted())
        found.finished += finished
        found.scraped += scraped
        found.seconds += seconds
    changed = connection.execute(
        f"""SELECT prefix_id, changed.* FROM ({_CHANGED}) AS changed
            JOIN task_group ON task_group.id = changed.group_id""",
        parameters,
    )
    for prefix, _, computed, erred, *states in changed:
        counted.setdefault(prefix, Counted()).add(computed, erred, states)
    for prefix, computed_again, erred_again in connection.execute(_BEGUN_AGAIN, parameters).fetchall():
        found = counted.setdefault(prefix, Counted())
        found.computed_again += computed_again
        found.erred_again += erred_again
    return counted


def seconds_until(connection: psycopg.Connection, cluster: int, at: int) -> dict[int, float]:
    """The computing time of the tasks of each prefix until `at` (microseconds), as `counted_until` has it."""
    counted, after = last_keyframe(connection, cluster, at)
    seconds = {prefix: found.seconds for prefix, found in counted.items()}
    if after < at:
        for prefix, _, _, more in connection.execute(_FINISHED, _parameters(connection, cluster, after, at)):
            seconds[prefix] = seconds.get(prefix, 0.0) + more
    return seconds


def make_keyframes(connection: psycopg.Connection, extent: Extent, until: int) -> int:
    """Make the keyframes that are missing until `until` (µs), which is settled; returns their number.

    None is made once a late record has changed the extent's version.
    """
    prefixes, newest = _newest(connection, extent, until)
    made = records = at = 0
    for interval, count in _records_by_interval(connection, extent.cluster, newest, until):
        records += count
        at = (interval + 1) * INTERVAL
        if records >= max(MANY_RECORDS, RECORDS_A_PREFIX * prefixes) and at < until:
            made += _make_keyframe(connection, extent, at)
            prefixes, newest = _newest(connection, extent, at)
            records = 0
    if not records:
        return made + _extend(connection, extent, newest, until)
    if at < until and until - newest >= AGE:
        made += _make_keyframe(connection, extent, at)
    return made


def has_old_keyframes(connection: psycopg.Connection, extent: Extent, until: int) -> bool:
    """Return whether the keyframes end long before `until` (microseconds)."""
    _, newest = _newest(connection, extent, until)
    return until - newest > 2 * AGE


def keep_progress(connection: psycopg.Connection, cluster: int, instants: Iterable[datetime]) -> None:
    """Make keyframes at instants from which on records stay, before what is older is removed."""
    extent = read_extent(connection, cluster)
    if extent is None:
        return
    for instant in sorted(instants):
        at = (to_microseconds(instant) // INTERVAL + 1) * INTERVAL
        is_inside = extent.first * 1e6 < at < extent.last * 1e6
        _, newest = _newest(connection, extent, at)
        if is_inside and newest < at:  # one that is made is not looked for again among archived records
            _make_keyframe(connection, extent, at)


def drop_keyframes(connection: psycopg.Connection, cluster: int, since: float) -> None:
    """Drop what keyframes tell of times from `since` (seconds) on, when a late record came."""
    parameters = {"cluster": cluster, "since": since}
    connection.execute(
        "DELETE FROM keyframe WHERE cluster_id = %(cluster)s AND time >= to_timestamp(%(since)s)", parameters
    )
    connection.execute(
        """UPDATE keyframe SET until = time
           WHERE cluster_id = %(cluster)s AND until >= to_timestamp(%(since)s)""",
        parameters,
    )


def _make_keyframe(connection: psycopg.Connection, extent: Extent, at: int) -> int:
    counted = counted_until(connection, extent.cluster, at)
    counts = [
        count for one in counted.values() for count in (*(getattr(one, name) for name in COUNTS), *one.states)
    ]
    # the extent is locked for the insert alone: writers of the cluster don't wait for the count
    return connection.execute(
        """INSERT INTO keyframe (cluster_id, time, until, prefixes, counts, seconds)
           SELECT cluster_id, %(at)s, %(at)s, %(prefixes)s::int[], %(counts)s::bigint[], %(seconds)s::float8[]
           FROM extent WHERE cluster_id = %(cluster)s AND version = %(version)s FOR SHARE
           ON CONFLICT (cluster_id, time) DO UPDATE
           SET until = excluded.until, prefixes = excluded.prefixes, counts = excluded.counts,
               seconds = excluded.seconds
           WHERE cardinality(keyframe.counts) <> %(width)s * cardinality(keyframe.prefixes)""",
        {
            "cluster": extent.cluster,
            "version": extent.version,
            "width": WIDTH,
            "at": from_microseconds(at),
            "prefixes": list(counted),
            "counts": counts,
            "seconds": [one.seconds for one in counted.values()],
        },
    ).rowcount


def _extend(connection: psycopg.Connection, extent: Extent, newest: int, until: int) -> int:
    """Move the time until which the newest keyframe holds to `until`: nothing happened since `newest` (µs).

    Makes the first keyframe of a cluster in which nothing happened for long; returns the number made.
    """
    if until - newest < EXTENSION:
        return 0
    moved = connection.execute(
        """WITH unchanged AS (
               SELECT FROM extent WHERE cluster_id = %(cluster)s AND version = %(version)s FOR SHARE
           )
           UPDATE keyframe SET until = %(until)s FROM unchanged
           WHERE cluster_id = %(cluster)s AND until = %(newest)s""",
        {
            "cluster": extent.cluster,
            "version": extent.version,
            "newest": from_microseconds(newest),
            "until": from_microseconds(until),
        },
    ).rowcount
    is_new = not moved and until - newest >= AGE
    return _make_keyframe(connection, extent, until // INTERVAL * INTERVAL) if is_new else 0


def _records_by_interval(
    connection: psycopg.Connection, cluster: int, after: int, until: int
) -> list[tuple[int, int]]:
    """The numbers of spans and transitions in (after, until], by the interval in which they were."""
    return connection.execute(
        f"""SELECT (extract(epoch FROM time) * 1000000)::bigint >> {SHIFT} AS interval, count(*)
            FROM (SELECT stop AS time {_SPANS} UNION ALL SELECT time {_TRANSITIONS}) AS records
            GROUP BY 1 ORDER BY 1""",
        _parameters(connection, cluster, after, until),
    ).fetchall()


def _parameters(
    connection: psycopg.Connection, cluster: int, after: int, at: int
) -> Mapping[str, datetime | int]:
    """The parameters of records in (after, at] (microseconds), up to the cluster's last record."""
    row = connection.execute("SELECT last FROM extent WHERE cluster_id = %s", [cluster]).fetchone()
    until = from_microseconds(at)
    return {
        "cluster": cluster,
        "after": from_microseconds(after),
        "at": min(until, row[0]) if row else until,
        "compute": int(Action.COMPUTE),
        "ok": int(Status.OK),
    }


def _newest(connection: psycopg.Connection, extent: Extent, until: int) -> tuple[int, int]:
    """The number of prefixes of the last keyframe, and the time (microseconds) until which it holds."""
    counted, after = last_keyframe(connection, extent.cluster, until)
    return len(counted), after


def last_keyframe(connection: psycopg.Connection, cluster: int, at: int) -> tuple[ByPrefix, int]:
    """Return the last keyframe, and the time (microseconds) until which it holds.

    Without one that is a time before the cluster's first record.
    """
    row = connection.execute(
        """SELECT coalesce(newest.until, first - interval '1 s'), prefixes, counts, seconds
           FROM extent LEFT JOIN (
               SELECT until, prefixes, counts, seconds FROM keyframe
               WHERE cluster_id = %(cluster)s AND time <= %(at)s
                 AND cardinality(counts) = %(width)s * cardinality(prefixes)
               ORDER BY time DESC LIMIT 1
           ) AS newest ON true
           WHERE extent.cluster_id = %(cluster)s""",
        {"cluster": cluster, "at": from_microseconds(at), "width": WIDTH},
    ).fetchone()
    if row is None:
        return {}, 0
    until, prefixes, counts, seconds = row
    counted = {}
    for number, prefix in enumerate(prefixes or ()):
        of_prefix = counts[number * WIDTH : (number + 1) * WIDTH]
        named = dict(zip(COUNTS, of_prefix, strict=False))
        counted[prefix] = Counted(**named, states=of_prefix[len(COUNTS) :], seconds=seconds[number])
    return counted, to_microseconds(until)
