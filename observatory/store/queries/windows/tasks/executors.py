"""Reads which executors of their workers tasks are sent to, by the annotation of that name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString, NamedTuple

import psycopg

from observatory.store.times import from_microseconds

EXECUTORS: LiteralString = """
    SELECT DISTINCT annotations->>'executor', group_id FROM task
    WHERE cluster_id = %(cluster)s AND group_id IN (SELECT unnest(%(groups)s::int[]))
        AND time < %(stop)s AND annotations->>'executor' IS NOT NULL ORDER BY 1, 2 LIMIT %(limit)s"""


class NamedExecutor(NamedTuple):
    name: str
    group: int


def named_executors(
    connection: psycopg.Connection, cluster: int, groups: Sequence[int], stop: int, limit: int
) -> list[NamedExecutor]:
    """Return the executors of tasks of `groups` that were submitted before `stop` (microseconds)."""
    parameters = {"cluster": cluster, "groups": list(groups), "stop": from_microseconds(stop), "limit": limit}
    return [NamedExecutor(*row) for row in connection.execute(EXECUTORS, parameters)]
