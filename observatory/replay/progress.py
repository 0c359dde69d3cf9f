"""How far the tasks of a cluster, or of a window of it, were at a point in time: by prefix and by state.

An agent reports each change of a task's state, so both are exact at that time. Otherwise finished tasks are
counted from their spans, and the rest is what the scheduler's metrics and counts told last before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.store.connection import build_connection, read_connection
from observatory.store.dask_names import color_of
from observatory.store.maintenance.keyframes import Counted, has_old_keyframes, make_keyframes
from observatory.store.queries import progress as store
from observatory.store.queries.extents import SETTLING, read_extent
from observatory.store.queries.progress import PrefixCounted
from observatory.store.queries.state import LastValues
from observatory.store.reading.scanning import read_tables
from observatory.store.times import from_microseconds, seconds_to_microseconds, to_microseconds
from observatory.wire.metrics import computed_tasks
from observatory.wire.records import TASK_STATES, UNFINISHED_STATES
from observatory.wire.tasks.prefixes import OTHERS

TASK_COUNTS, SCRAPED_COUNTS = "observatory_cluster_tasks", "dask_scheduler_tasks"
MAXIMUM_AGE = 3.5
"""sampling intervals after which a sample is too old"""
FINISHED_STATES = ("memory", "erred", "released")
UNKNOWN_PREFIX = -1
MOST_PREFIXES = 1_000
"""that are listed; live pages get them each second"""
STATES = tuple(state for state in TASK_STATES if state != "forgotten")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of a cluster by state."""

    counts: dict[str, int]
    at: int | None
    """when they were counted (microseconds); None: they aren't known"""

    @property
    def unfinished(self) -> int | None:
        """How many are to be computed; None if that isn't known."""
        if "waiting" not in self.counts or "processing" not in self.counts:
            return None
        return sum(self.counts.get(state, 0) for state in UNFINISHED_STATES)


@dataclass(frozen=True, slots=True)
class Progress:
    """What is known of a cluster's tasks at a time."""

    at: int
    """microseconds"""
    prefixes: list[PrefixCounted]
    entered: store.Entered
    sampled: Tasks
    """the last count of the tasks by state"""
    tasks: Tasks
    is_exact: bool
    """transitions were reported"""

    @property
    def sampled_at(self) -> int | None:
        """When the scheduler's metrics were read that totals and errors are from; None: from none."""
        return None if self.is_exact else self.entered.at


def complete_keyframes(cluster: Cluster) -> None:
    """Make the keyframes of a cluster that ended too long ago for Celery to make them (replay/tasks.py)."""
    if cluster.is_live:
        return
    with read_connection() as connection:
        extent = read_extent(connection, cluster.pk)
        if extent is None or not has_old_keyframes(connection, extent, seconds_to_microseconds(extent.last)):
            return
    with build_connection() as connection:
        make_keyframes(connection, extent, seconds_to_microseconds(extent.committed - SETTLING))


def progress_at(
    connection: psycopg.Connection, cluster: Cluster, at: int, samples: list[LastValues]
) -> Progress:
    """Return what is known at `at` (microseconds). `samples`: the last task counts before it."""
    since = store.agent_since(connection, cluster.pk)
    prefixes = store.prefixes_counted(connection, cluster.pk, at)
    # an imported list of spans looks as if an agent had sent it, but has no transitions
    is_exact = since is not None and since <= at and any(found.counted.has_transitions for found in prefixes)
    tasks = sampled = sampled_tasks(samples, cluster, at)
    if is_exact:
        tasks = _exact(connection, cluster, at, since or 0, prefixes, sampled)
    entered = store.entered_until(connection, cluster.pk, at)
    return Progress(at, prefixes, entered, sampled, tasks, is_exact)


def rows(
    connection: psycopg.Connection, cluster: Cluster, now: Progress, before: Progress | None
) -> list[Row]:
    """Return one row per prefix: what was done since `before`, and what is left.

    With transitions a task counts once: one that begins again is left, not done or erred, until it ends.
    Tasks that were unfinished before, or begin again after that, belong to the window, too.
    """
    earlier = {row["name"]: row for row in _all_rows(before)} if before else {}
    of_earlier = _begun_again_of_earlier(connection, cluster, now, before) if before else {}
    found = []
    for row in _all_rows(now):
        old = {**earlier.get(row["name"], {})}
        for name, count in zip(("done", "erred"), of_earlier.get(row["prefix"], (0, 0)), strict=True):
            old[name] = (old.get(name) or 0) - count
        for name in ("done", "erred", "seconds"):
            row[name] = None if row[name] is None else max(0, row[name] - (old.get(name) or 0))
        left = row.pop("left")
        row["total"] = None if left is None else row["done"] + (row["erred"] or 0) + left
        if row["done"] or row["total"] or row["erred"]:
            found.append(row)
    return found


def _begun_again_of_earlier(
    connection: psycopg.Connection, cluster: Cluster, now: Progress, before: Progress
) -> dict[int, tuple[int, int]]:
    """Return how many tasks that were computed, and that erred, before a window began again in it."""
    earlier = {found.prefix: found.counted for found in before.prefixes}
    prefixes = [
        found.prefix
        for found in now.prefixes
        if (found.counted.computed_again, found.counted.erred_again)
        != ((old := earlier.get(found.prefix) or Counted()).computed_again, old.erred_again)
    ]
    if not (now.is_exact and prefixes):
        return {}
    read_tables(connection, ["transition"])
    return store.begun_again_of_earlier(connection, cluster.pk, before.at, now.at, prefixes)


def listed_rows(found: Sequence[Row]) -> tuple[list[Row], Row | None]:
    """Return the rows of the prefixes with most tasks, in their order, and the sums of the others."""
    if len(found) <= MOST_PREFIXES:
        return list(found), None
    places = sorted(range(len(found)), key=lambda place: -_weight(found[place]))
    left = [found[place] for place in places[MOST_PREFIXES:]]

    def total(name: str) -> int | None:
        return None if any(row[name] is None for row in left) else sum(row[name] for row in left)

    others = {name: total(name) for name in ("done", "total", "erred")}
    seconds = sum(row["seconds"] for row in left)
    return [found[place] for place in sorted(places[:MOST_PREFIXES])], {
        "prefixes": len(left),
        **others,
        "seconds": seconds,
    }


def _weight(row: Row) -> int:
    return int(max(row["total"] or 0, row["done"] + (row["erred"] or 0)))


def tasks_of(connection: psycopg.Connection, scope: Scope, now: Progress, before: Progress | None) -> Tasks:
    """Return the tasks by state, of a window without those that had finished before it."""
    if before is None or not now.is_exact:
        return now.tasks
    finished = _finished_in_window(connection, scope, now, before)
    unfinished = {state: now.tasks.counts.get(state, 0) for state in UNFINISHED_STATES}
    counts = unfinished | finished
    return Tasks({state: counts[state] for state in STATES}, now.at)


def sampled_tasks(samples: list[LastValues], cluster: Cluster, at: int) -> Tasks:
    """Return the last polled counts, and the last scraped ones where those have none (queued)."""
    oldest = from_microseconds(at) - timedelta(seconds=polled_age(cluster))
    scraped = [sample for sample in samples if sample.metric == SCRAPED_COUNTS]
    polled = [sample for sample in samples if sample.metric == TASK_COUNTS and sample.time >= oldest]
    counts = {found.labels.get("state", ""): int(found.values.get(None, 0)) for found in (*scraped, *polled)}
    times = [to_microseconds(sample.time) for sample in polled or scraped]
    return Tasks(counts, max(times, default=None))


def polled_age(cluster: Cluster) -> float:
    """Seconds after which a sample of a poll is too old."""
    return MAXIMUM_AGE * cluster.identity_interval


def scraped_age(cluster: Cluster) -> float:
    """Seconds after which a sample of a scrape is too old, or one that comes by polls or by scrapes."""
    return MAXIMUM_AGE * max(cluster.identity_interval, cluster.metrics_interval)


def _exact(
    connection: psycopg.Connection,
    cluster: Cluster,
    at: int,
    since: int,
    prefixes: list[PrefixCounted],
    sampled: Tasks,
) -> Tasks:
    """Return the tasks by state at `at`: the agent's last count, and the transitions after it.

    The count has tasks that were there before the agent, or whose transitions were dropped, too.
    """
    if sampled.at is not None and sampled.at >= since:
        changes = store.state_changes(connection, cluster.pk, sampled.at, at)
        return Tasks({state: max(0, sampled.counts.get(state, 0) + changes[state]) for state in STATES}, at)
    counts = {
        state: sum(max(0, found.counted.states[code]) for found in prefixes)
        for code, state in enumerate(STATES)
    }
    return Tasks(counts, at)


def _finished_in_window(
    connection: psycopg.Connection, scope: Scope, now: Progress, before: Progress
) -> dict[str, int]:
    """Return the tasks that finished in the window and are in memory, erred or released, by state.

    Where tasks of a prefix had finished before the window, and some left that state in it, tasks are told
    apart. If there are too many changes for that, those that left are taken for the window's own.
    """
    earlier = {found.prefix: found.counted for found in before.prefixes}
    mixed = []
    counts = dict.fromkeys(FINISHED_STATES, 0)
    for found in now.prefixes:
        old = earlier.get(found.prefix) or Counted()
        grown = {state: found.counted.states[code] - old.states[code] for state, code in _CODES.items()}
        had = any(old.states[code] > 0 for code in _CODES.values())
        left_memory = grown["memory"] < found.counted.computed - old.computed
        left_erred = grown["erred"] < found.counted.erred - old.erred
        if had and (left_memory or left_erred or grown["released"]):
            mixed.append((found.prefix, grown))
        else:
            for state, count in grown.items():
                counts[state] += max(0, count)
    if not mixed:
        return counts
    read_tables(connection, ["transition"])
    finished = store.finished_since(
        connection, scope.cluster.pk, before.at, now.at, [prefix for prefix, _ in mixed]
    )
    for prefix, grown in mixed:
        for state, count in (grown if finished is None else finished[prefix]).items():
            if state in counts:
                counts[state] += max(0, count)
    return counts


_CODES = {state: TASK_STATES.index(state) for state in FINISHED_STATES}


def _all_rows(progress: Progress) -> Iterator[Row]:
    """Return a row of each prefix, with `left`: how many tasks are to be computed; None: unknown.

    `states` has these by state, where all their transitions are known.
    """
    entered = _entered(progress)
    known = {found.name for found in progress.prefixes}
    prefixes = [
        *progress.prefixes,
        *(
            PrefixCounted(UNKNOWN_PREFIX, name, color_of(name), Counted())
            for name in entered
            if name and name not in known
        ),
    ]
    done = {
        found.name: max(
            found.counted.scraped + found.counted.computed if progress.is_exact else found.counted.finished,
            int(computed_tasks(entered.get(found.name, {}))),
        )
        - found.counted.computed_again
        for found in prefixes
    }
    erred = {
        found.name: max(found.counted.erred, entered.get(found.name, {}).get("erred", 0))
        - found.counted.erred_again
        for found in prefixes
    }
    unfinished = progress.tasks.unfinished
    states: dict[str, dict[str, int]] = {}
    if progress.is_exact:
        states = {found.name: found.counted.unfinished for found in prefixes}
        left = {name: sum(counts.values()) for name, counts in states.items()}
        if unfinished is not None and sum(left.values()) > unfinished:  # transitions were dropped
            states, left = {}, {name: min(count, unfinished) for name, count in left.items()}
    else:
        left = _estimated_left(entered, done, unfinished)
    for found in prefixes:
        is_known = progress.is_exact or found.name in entered
        yield {
            "prefix": found.prefix,
            "name": found.name,
            "color": found.color,
            "done": done[found.name],
            "erred": erred[found.name] if is_known else None,
            "left": left.get(found.name),
            "states": states.get(found.name),
            "seconds": found.counted.seconds,
        }


def _entered(progress: Progress) -> dict[str, dict[str, int]]:
    """Return how often tasks of each prefix entered each state.

    OTHERS sums up prefixes without counts of their own: what was counted of them otherwise is taken from it.
    """
    entered = dict(progress.entered.counts)
    if OTHERS in entered:
        rest = [found.counted for found in progress.prefixes if found.name not in entered]
        done = sum(one.scraped + one.computed if progress.is_exact else one.finished for one in rest)
        erred = sum(one.erred for one in rest)
        known = {"memory": done, "erred": erred, "waiting": done + erred, "released": done + erred}
        entered[OTHERS] = {
            state: max(0, count - known.get(state, 0)) for state, count in entered[OTHERS].items()
        }
    return entered


def _estimated_left(
    entered: Mapping[str, Mapping[str, int]], done: Mapping[str, int], unfinished: int | None
) -> dict[str, int]:
    """Return how many tasks of each prefix are to be computed, from how often its tasks entered each state.

    A task that was cancelled, or sent to another worker, entered `waiting` and was not computed, but entered
    `released`: so did results that were no longer needed. Of all prefixes together not more than
    `unfinished` are left: first those that can't have been released, then where most can be left.
    """
    most = {
        name: max(0, counts.get("waiting", 0) - done[name] - counts.get("erred", 0))
        for name, counts in entered.items()
    }
    if unfinished is None:
        return most
    left = {}
    for name in sorted(most, key=lambda name: most[name]):
        least = max(0, most[name] - entered[name].get("released", most[name]))
        left[name] = min(least, unfinished)
    remaining = max(0, unfinished - sum(left.values()))
    for name in sorted(most, key=lambda name: most[name], reverse=True):
        more = min(most[name] - left[name], remaining)
        left[name] += more
        remaining -= more
    return left
