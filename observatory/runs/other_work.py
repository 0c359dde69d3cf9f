"""The tasks in a run's window that aren't the run's: other clients submitted them."""

from __future__ import annotations

from datetime import datetime

import psycopg

from observatory.replay.scope import Scope
from observatory.runs.models import Run
from observatory.store.queries.windows.other_work import OtherWork, other_work
from observatory.store.times import from_microseconds


def other_work_of(connection: psycopg.Connection, run: Run, stop: datetime) -> OtherWork:
    """Those before `stop`."""
    return other_work(connection, run.cluster_id, run.code_id, run.start, stop)


def other_work_in(connection: psycopg.Connection, scope: Scope, stop: int) -> OtherWork:
    """Those of the scope's run before `stop` (microseconds); of a scope without a run nothing."""
    return other_work(
        connection, scope.cluster.pk, scope.opened_as, from_microseconds(scope.start), from_microseconds(stop)
    )
