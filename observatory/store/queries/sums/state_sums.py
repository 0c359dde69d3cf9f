"""Changes of tasks' states by group and state."""

from __future__ import annotations

from typing import LiteralString

from observatory.store.queries.sums.sum_layer import SumLayer, microseconds_after_first
from observatory.store.queries.timeline import WITHIN
from observatory.store.queries.windows.row_counts import has_more_transitions
from observatory.wire.records import TASK_STATES

CREATED = len(TASK_STATES)
"""In place of a state: tasks that a graph brought. A task begins as released, without a transition to it."""

IS_FIRST: LiteralString = f"start = {TASK_STATES.index('released')} AND stimulus LIKE 'update-graph%%'"
"""of transitions: whether a graph brought the task"""

QUERY: LiteralString = f"""
    SELECT group_id AS task_group, state, (passed / %(width)s::bigint)::int AS bin,
        count(*)::float8 AS count, sum(change)::float8 AS change,
        sum(change * passed)::float8 / 1e6
            + sum(change) * date_part('epoch', %(first)s::timestamptz) AS moment
    FROM (
        SELECT group_id, start::int AS start, finish::int AS finish,
            {IS_FIRST} AS is_new,
            {microseconds_after_first("time")} AS passed
        FROM transition WHERE {WITHIN} AND start <> finish
    ) AS found CROSS JOIN LATERAL (
        VALUES (start, -1), (finish, 1), (CASE WHEN is_new THEN {CREATED} END, 1)
    ) AS changed (state, change)
    WHERE state >= 0 GROUP BY 1, 2, 3"""

STATE_SUMS = SumLayer(
    name="state-sums",
    kinds=("transition",),
    keys=("task_group", "state"),
    added=("count", "change", "moment"),
    query=QUERY,
    has_more=has_more_transitions,
    named=("task_group",),
    named_by="count",
    most_rows=100_000,
)
"""`state` is a position in TASK_STATES, or CREATED. `change` is how many more tasks were in it afterwards.
`moment` is the sum of the times (seconds) at which tasks came, less those at which they went: until some time
they were in the state for `change * time - moment` seconds together."""
