"""Reads the exception that ended the code of a run, which its client told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from observatory.wire.event_kinds import RUN_RAISED


@dataclass(frozen=True, slots=True)
class RunException:
    time: datetime
    exception_type: str
    message: str
    traceback: str
    """as Python prints it, with its causes"""

    @property
    def text(self) -> str:
        """Its type and message, in a line."""
        return ": ".join(filter(None, (self.exception_type, self.message)))


def exception_of_run(
    connection: psycopg.Connection,
    cluster: int,
    code_id: UUID | None,
    exception_type: str,
    start: datetime,
    stop: datetime,
) -> RunException | None:
    """Return what ended the code of a run that a client opened.

    `code_id`: the id that the client gave it; without one, the last exception of the type counts.

    The exception's time and the run's end are the same float, which two places round to microseconds.
    """
    with connection.cursor(row_factory=class_row(RunException)) as cursor:
        return cursor.execute(
            """SELECT time, coalesce(detail->>'exception_type', '') AS exception_type,
                      coalesce(detail->>'exception_message', '') AS message,
                      coalesce(detail->>'traceback', '') AS traceback
               FROM event
               WHERE cluster_id = %(cluster)s AND kind = %(kind)s AND time BETWEEN %(start)s
                   AND %(stop)s + interval '1 second'
                   AND CASE WHEN %(run)s::text IS NULL THEN detail->>'exception_type' = %(type)s
                       ELSE detail->>'run' = %(run)s END
               ORDER BY time DESC LIMIT 1""",
            {
                "cluster": cluster,
                "kind": RUN_RAISED,
                "start": start,
                "stop": stop,
                "run": code_id and code_id.hex,
                "type": exception_type,
            },
        ).fetchone()
