"""Reads which resources of workers tasks require. A task is the hash of its key, as in thread_time.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString, NamedTuple

import psycopg

from observatory.store.queries.windows.other_work import TASK
from observatory.store.times import from_microseconds

REQUIRED: LiteralString = f"""
    WITH required AS (
        SELECT {TASK.format("task")} AS task, item.key AS name, CASE jsonb_typeof(item.value)
            WHEN 'number' THEN least(greatest((item.value#>>'{{}}')::numeric, 0), 1e15)::float8 END AS amount
        FROM task CROSS JOIN LATERAL
            jsonb_each(CASE jsonb_typeof(resources) WHEN 'object' THEN resources END) AS item
        WHERE cluster_id = %(cluster)s AND group_id IN (SELECT unnest(%(groups)s::int[]))
            AND time < %(stop)s AND resources <> '{{}}')
    SELECT DISTINCT task, name, amount FROM required WHERE amount IS NOT NULL LIMIT %(limit)s"""


class RequiredResource(NamedTuple):
    task: int
    name: str
    amount: float


def required_resources(
    connection: psycopg.Connection, cluster: int, groups: Sequence[int], stop: int, limit: int
) -> list[RequiredResource]:
    """Return what tasks of `groups` require that were submitted before `stop` (microseconds)."""
    parameters = {"cluster": cluster, "groups": list(groups), "stop": from_microseconds(stop), "limit": limit}
    return [RequiredResource(*row) for row in connection.execute(REQUIRED, parameters)]
