"""When workers took their first tasks: one that has joined sets its plugins up before it runs any."""

from __future__ import annotations

from typing import LiteralString

import psycopg

from observatory.store.queries.timeline import WITHIN, window_parameters

READY: LiteralString = f"""
    SELECT worker_id, extract(epoch FROM min(time))::float8 FROM event
    WHERE {WITHIN} AND kind = 'worker-status' AND worker_id IS NOT NULL
        AND detail->>'before' = 'init' AND detail->>'status' = 'running'
    GROUP BY worker_id"""


def ready_times(connection: psycopg.Connection, cluster: int, start: int, stop: int) -> dict[int, float]:
    """Return when workers were ready in [start, stop) (microseconds), in seconds, where an agent told it."""
    return dict(connection.execute(READY, window_parameters(cluster, start, stop)).fetchall())
