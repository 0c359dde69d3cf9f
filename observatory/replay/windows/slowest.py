"""The slowest tasks of a prefix in a window."""

from __future__ import annotations

import numpy as np
import psycopg

from observatory.replay.scope import Scope
from observatory.replay.windows.greatest import Wanted, greatest
from observatory.store.queries.sums.prefix_sums import PREFIX_SUMS
from observatory.store.queries.sums.sum_layer import REST
from observatory.store.queries.windows.prefixes import SlowTask, slowest_tasks
from observatory.store.queries.windows.row_counts import has_more_spans
from observatory.wire.records import Action


def slowest(
    connection: psycopg.Connection, scope: Scope, prefix: int, start: int, stop: int, most: int
) -> list[SlowTask]:
    """Return the tasks that computed longest, of those that end in [start, stop) (microseconds)."""
    cluster = scope.cluster.pk
    wanted = Wanted(
        layer=PREFIX_SUMS,
        greatest="longest",
        can_have=lambda rows: (
            np.isin(rows["prefix"], (prefix, REST)) & (rows["action"] == Action.COMPUTE) & (rows["count"] > 0)
        ),
        has_more=lambda begin, end, than: has_more_spans(connection, cluster, begin, end, None, than),
        read=lambda begin, end: slowest_tasks(connection, cluster, prefix, begin, end, most),
        value=lambda task: task.seconds,
        start=lambda task: task.start,
    )
    return greatest(connection, scope, wanted, start, stop, most)
