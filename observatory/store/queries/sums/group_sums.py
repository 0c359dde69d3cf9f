"""Sums of computing spans by group and duration."""

from __future__ import annotations

from observatory.store.queries.sums.span_sums import (
    ADDED,
    DURATIONS,
    GREATEST,
    LEAST,
    MOST_ROWS,
    has_more,
    span_query,
)
from observatory.store.queries.sums.sum_layer import SumLayer
from observatory.wire.records import Action

GROUP_SUMS = SumLayer(
    name="group-durations",
    kinds=("span",),
    keys=("task_group", "bucket"),
    added=ADDED,
    greatest=GREATEST,
    least=LEAST,
    durations=(*DURATIONS, *LEAST),
    query=span_query(
        "task_group, bucket", "group_id AS task_group", f"span WHERE action = {int(Action.COMPUTE)}"
    ),
    has_more=has_more,
    named=("task_group",),
    named_by="seconds",
    most_rows=MOST_ROWS,
)
