"""Reads when a cluster was busy, and what with: what runs are found and named by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import psycopg

from observatory.wire.records import Action

LONGEST_SPAN = timedelta(days=7)
"""spans that ended after an instant began at most so long before it: older days aren't looked at"""
EARLIER = timedelta(minutes=5)
"""a graph may have been submitted so long before the first of its tasks ended"""


@dataclass(frozen=True, slots=True, order=True)
class ActiveInterval:
    """A stretch in which something was done all the time, to the second."""

    start: datetime
    stop: datetime


def active_intervals(
    connection: psycopg.Connection, cluster: int, after: datetime | None
) -> list[ActiveInterval]:
    """When spans that ended after an instant (None: all) lay, by the second of their end; in order of start.

    All of a second's spans end in it, so that between the first start and the last stop is no pause of one.
    """
    rows = connection.execute(
        """SELECT min(start), max(stop) FROM span
           WHERE cluster_id = %(cluster)s
             AND (%(after)s::timestamptz IS NULL OR (stop > %(after)s AND start > %(earliest)s))
           GROUP BY date_trunc('second', stop) ORDER BY 1""",
        {"cluster": cluster, "after": after, "earliest": after - LONGEST_SPAN if after else None},
    )
    return [ActiveInterval(start, stop) for start, stop in rows]


def main_prefixes(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime, limit: int
) -> tuple[list[str], int]:
    """The prefixes that were computed longest in [start, stop), and how many there are."""
    rows = connection.execute(
        """SELECT name, count(*) OVER () FROM (
               SELECT prefix_id, sum(stop - start) AS total FROM span
               WHERE cluster_id = %(cluster)s AND start < %(stop)s AND stop > %(start)s
                 AND action = %(compute)s
               GROUP BY prefix_id
           ) AS computed JOIN prefix ON prefix.id = prefix_id ORDER BY total DESC, name LIMIT %(limit)s""",
        {**_window(cluster, start, stop), "compute": int(Action.COMPUTE), "limit": limit},
    ).fetchall()
    return [name for name, _ in rows], rows[0][1] if rows else 0


def submitted_code(connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime) -> str:
    """The code of the computation that was being worked on at `start`, else of the first in the window."""
    row = connection.execute(
        """SELECT code FROM computation
           WHERE cluster_id = %(cluster)s AND time >= %(earlier)s AND time < %(stop)s AND code <> ''
           ORDER BY time > %(start)s, abs(extract(epoch FROM time - %(start)s)) LIMIT 1""",
        {**_window(cluster, start, stop), "earlier": start - EARLIER},
    ).fetchone()
    return row[0] if row else ""


def _window(cluster: int, start: datetime, stop: datetime) -> dict[str, Any]:
    return {"cluster": cluster, "start": start, "stop": stop}
