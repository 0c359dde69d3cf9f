"""What an instant's state needs of archived rows: the last samples, and the changes since a keyframe.

They are found in files, while all rows of their kinds come back into the tables for the next instants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psycopg

from observatory.replay.progress import sampled_tasks, scraped_age
from observatory.replay.scope import Scope
from observatory.replay.state import SAMPLED, task_counts
from observatory.store.archive.scans.conditions import INSTANT, AtLeast, Condition, OneOf, Test
from observatory.store.maintenance.keyframes import CASCADE, last_keyframe
from observatory.store.queries.extents import read_extent
from observatory.store.reading.scanned_instants import scanned_samples
from observatory.store.reading.scanning import bring_back_meanwhile, scanned, scanned_kinds
from observatory.store.times import from_microseconds, seconds_to_microseconds

STATUSES = Condition((OneOf(("kind",), frozenset({"worker-status"})),))
RELEASED = OneOf(("finish",), frozenset({"released"}))


@contextmanager
def scanned_state(connection: psycopg.Connection, scope: Scope, at: int) -> Iterator[None]:
    """Have `state_at` of the block find archived rows in files. `at` is in microseconds. Needs a snapshot.

    Raises NoPlace, ArchiveError, AskerGone and psycopg.Error.
    """
    cluster = scope.cluster
    extent = read_extent(connection, cluster.pk)
    if extent is None or cluster.is_live:  # nothing of it is archived
        yield
        return
    last = seconds_to_microseconds(extent.last)
    asked = min(max(at, scope.start), scope.stop)
    instants = sorted({scope.start or asked, asked})
    age = round(scraped_age(cluster) * 1e6)
    stretches = [(min(instant, last) - age, instant) for instant in instants]
    with scanned_samples(connection, cluster.pk, stretches, SAMPLED):
        changes = _changes(connection, scope, instants, last)
        with scanned(connection, cluster.pk, {**changes, "event": STATUSES}):
            kinds = scanned_kinds(connection)
            yield
    bring_back_meanwhile(cluster.pk, kinds)


def _changes(
    connection: psycopg.Connection, scope: Scope, instants: Sequence[int], last: int
) -> dict[str, list[Condition]]:
    """The spans and transitions that count at each instant, each in one condition."""
    spans, transitions = [], []
    before: int | None = None
    for instant in instants:
        at = min(instant, last)
        _, keyframe = last_keyframe(connection, scope.cluster.pk, at)
        sampled = sampled_tasks(task_counts(connection, scope, at), scope.cluster, at).at
        first = keyframe if sampled is None else min(keyframe, sampled)
        # of those that were computing then, too
        unfinished = AtLeast("stop", from_microseconds(min(keyframe, at)))
        spans.append(_between((unfinished,), before, instant))
        transitions.append(_between((), first if before is None else max(first, before), instant))
        # what began again was released by the same stimulus, maybe just before the keyframe
        released = keyframe - round(CASCADE * 1e6)
        if before is not None:
            released = max(released, before)
        if released < first:
            transitions.append(_between((RELEASED,), released, first))
        before = instant
    return {"span": spans, "transition": transitions}


def _between(tests: tuple[Test, ...], after: int | None, until: int) -> Condition:
    """Of rows in (after, until] (microseconds)."""
    start = None if after is None else from_microseconds(after) + INSTANT
    return Condition(tests, start, from_microseconds(until) + INSTANT)
