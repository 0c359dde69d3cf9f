"""Reads the events of a cluster."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

MOST_MESSAGES = 10
"""messages"""


def messages_of(connection: psycopg.Connection, cluster: int, kinds: Sequence[str]) -> list[str]:
    """Return what the last events of these kinds say, each message once, the newest first."""
    rows = connection.execute(
        """SELECT detail->>'message' AS message FROM event
           WHERE cluster_id = %(cluster)s AND kind = ANY(%(kinds)s) AND detail->>'message' <> ''
           GROUP BY message ORDER BY max(time) DESC LIMIT %(most)s""",
        {"cluster": cluster, "kinds": list(kinds), "most": MOST_MESSAGES},
    )
    return [message for (message,) in rows]
