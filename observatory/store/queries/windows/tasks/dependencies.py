"""Reads what the tasks of some groups need. A task is the hash of its key, as in thread_time.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString

import psycopg

from observatory.store.queries.fetch import Array, fetch_columns, fetch_packed_columns
from observatory.store.times import from_microseconds

NEEDS_TYPES = {"group": "int32", "task": "int64", "needs_task": "int64"}
NEEDS: LiteralString = """
    SELECT group_id, hash_record_extended(ROW(group_id, key_rest), 0),
        hash_record_extended(ROW(depends_on_group_id, depends_on_rest), 0)
    FROM dependency
    WHERE cluster_id = %(cluster)s AND group_id IN (SELECT unnest(%(groups)s::int[])) AND time < %(stop)s
    LIMIT %(limit)s"""
GROUP_TYPES = {"group": "int32", "needs_group": "int32"}
GROUP_NEEDS: LiteralString = """
    SELECT DISTINCT group_id, depends_on_id FROM group_dependency
    WHERE cluster_id = %(cluster)s AND group_id IN (SELECT unnest(%(groups)s::int[])) AND time < %(stop)s"""


def needs_of_tasks(
    connection: psycopg.Connection, cluster: int, groups: Sequence[int], stop: int, limit: int
) -> dict[str, Array]:
    """Return what tasks of `groups`, submitted before `stop` (microseconds), need: columns of NEEDS_TYPES."""
    parameters = {"cluster": cluster, "groups": list(groups), "stop": from_microseconds(stop), "limit": limit}
    return fetch_packed_columns(connection, NEEDS, parameters, NEEDS_TYPES)


def needs_of_groups(
    connection: psycopg.Connection, cluster: int, groups: Sequence[int], stop: int
) -> dict[str, Array]:
    """Return what `groups`, submitted before `stop` (microseconds), need: columns of GROUP_TYPES."""
    parameters = {"cluster": cluster, "groups": list(groups), "stop": from_microseconds(stop)}
    return fetch_columns(connection, GROUP_NEEDS, parameters, GROUP_TYPES)
