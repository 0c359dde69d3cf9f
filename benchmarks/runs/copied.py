"""Copies a stored run within the database: its tasks again and again, one copy after the other.

Unlike multiply.py, nothing passes through Python, so that a million tasks with all that an agent
records of them are stored in a minute or two.
"""

from __future__ import annotations

import psycopg

from observatory.wire.columns import ColumnType
from observatory.wire.kinds import KINDS

COPIED = ("span", "transition", "steal", "transfer", "dependency", "group_dependency")
"""what the tasks of a run consist of"""
PAUSE = 1.0
"""seconds between two copies"""
GROUPS = """
    CREATE TEMP TABLE copied_group AS
    SELECT copy, task_group.id AS old, nextval(pg_get_serial_sequence('task_group', 'id'))::int AS id,
        task_group.cluster_id, prefix_id, left(task_group.name, 300) || '-copy' || copy AS name
    FROM task_group, generate_series(1, %(copies)s) AS copy WHERE task_group.cluster_id = %(cluster)s"""


def copy_run(connection: psycopg.Connection, cluster: int, seconds: float, copies: int) -> None:
    """Add copies of all that is stored of a cluster, which is `seconds` long."""
    parameters = {"cluster": cluster, "copies": copies, "seconds": seconds + PAUSE}
    connection.execute(GROUPS, parameters)
    connection.execute(
        "INSERT INTO task_group (id, cluster_id, prefix_id, name) "
        "SELECT id, cluster_id, prefix_id, name FROM copied_group"
    )
    connection.execute("CREATE INDEX ON copied_group (old)")
    connection.execute("ANALYZE copied_group")
    for kind in COPIED:
        connection.execute(_statement(kind), parameters)
        connection.execute(f"ANALYZE {kind}")
    connection.execute("DROP TABLE copied_group")


def _statement(kind: str) -> str:
    columns = KINDS[kind].columns
    of_groups = [column.name for column in columns if column.name in ("group_id", "depends_on_group_id")]
    if kind == "group_dependency":
        of_groups.append("depends_on_id")
    values, joins = [], []
    for column in columns:
        if column.name in of_groups:
            values.append(f"of_{column.name}.id")
            joins.append(
                f"JOIN copied_group AS of_{column.name} ON of_{column.name}.old = row.{column.name} "
                f"AND of_{column.name}.copy = number"
            )
        elif column.type is ColumnType.TIME:
            values.append(f"row.{column.name} + make_interval(secs => number * %(seconds)s)")
        else:
            values.append(f"row.{column.name}")
    names = ", ".join(column.name for column in columns)
    return (
        f"INSERT INTO {kind} (cluster_id, {names}) SELECT row.cluster_id, {', '.join(values)} "
        f"FROM generate_series(1, %(copies)s) AS number CROSS JOIN {kind} AS row {' '.join(joins)} "
        "WHERE row.cluster_id = %(cluster)s"
    )
