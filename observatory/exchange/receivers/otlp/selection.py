"""Chooses the tasks of a run that are sent: all of a small run, else a sample with those that matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import psycopg
from django.utils.timezone import now

from observatory.exchange.receivers.receiver_kind import NotYet
from observatory.replay.scope import Scope
from observatory.replay.windows.stragglers import FENCE, FEWEST, LEAST_EXCESS, RATIO, SHORTEST, WIDEST
from observatory.runs.models import Run
from observatory.store.queries.timeline import snapshot
from observatory.store.queries.windows.other_work import OtherWork
from observatory.store.queries.windows.outliers import stragglers
from observatory.store.queries.windows.tasks.sampled_tasks import edges_between, sampled_tasks
from observatory.store.times import MAXIMUM_TIME
from observatory.why.kept import StillLooking, explained
from observatory.why.window import TooManyTasks

MOST_STRAGGLERS = 1_000
MOST_LINKS = 32
"""of a span"""
MOST_EDGES = 500_000
LONGEST_WAIT = timedelta(minutes=30)
"""after the end of a run, for the critical path of a large one"""


@dataclass(frozen=True, slots=True)
class Selection:
    tasks: list[int]
    """hashes"""
    needs: dict[int, list[int]]
    """by task: tasks of the selection"""
    critical: frozenset[str]
    """keys on the critical path"""
    stragglers: frozenset[str]
    """keys"""
    has_path: bool


def select(connection: psycopg.Connection, run: Run, scope: Scope, others: OtherWork, most: int) -> Selection:
    """Raises NotYet while the critical path of a large run is being looked for."""
    window = (connection, run.cluster_id, *scope.window)
    path = _critical_keys(connection, run, scope)
    with snapshot(connection):
        found_slow = stragglers(
            *window, RATIO, LEAST_EXCESS, FENCE, WIDEST, SHORTEST, FEWEST, MOST_STRAGGLERS
        )
        slow = frozenset(task.key for task in found_slow)
        kept = sorted((path or frozenset()) | slow)
        found = sampled_tasks(*window, kept, most, others)
        tasks = found["task"].tolist()
        groups = np.unique(found["group"]).tolist()
        edges = edges_between(connection, run.cluster_id, scope.stop, tasks, groups, MOST_EDGES)
    needs = _by_task(edges["task"].tolist(), edges["needs"].tolist())
    return Selection(tasks, needs, path or frozenset(), slow, path is not None)


def _critical_keys(connection: psycopg.Connection, run: Run, scope: Scope) -> frozenset[str] | None:
    """None: the run has too many tasks."""
    try:
        path = explained(connection, scope, "critical-path", 0, MAXIMUM_TIME)
    except TooManyTasks:
        return None
    except StillLooking:
        if run.stop is not None and now() - run.stop < LONGEST_WAIT:
            raise NotYet from None
        return None
    return frozenset(piece["key"] for piece in path["pieces"] if piece["key"] is not None)


def _by_task(tasks: Sequence[int], needs: Sequence[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for task, needed in zip(tasks, needs, strict=True):
        known = found.setdefault(task, [])
        known.append(needed)
    return {task: sorted(known)[:MOST_LINKS] for task, known in found.items()}
