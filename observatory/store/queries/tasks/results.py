"""Reads the names of results in memory, and where they are."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import psycopg

from observatory.store.times import from_microseconds


class Group(NamedTuple):
    name: str
    prefix: int
    """id"""


def groups(connection: psycopg.Connection, ids: Collection[int]) -> dict[int, Group]:
    """Return groups by id."""
    rows = connection.execute(
        "SELECT id, name, prefix_id FROM task_group WHERE id = ANY(%s)", [list(ids)]
    ).fetchall()
    return {id: Group(*group) for id, *group in rows}


def workers_alive(connection: psycopg.Connection, cluster: int, at: int) -> set[int]:
    """Return the ids of the workers that were there at `at` (microseconds)."""
    rows = connection.execute(
        "SELECT id FROM worker WHERE cluster_id = %s AND started <= %s AND (ended IS NULL OR ended > %s)",
        [cluster, from_microseconds(at), from_microseconds(at)],
    )
    return {id for (id,) in rows}
