"""Sums of computing spans by group and duration."""

from __future__ import annotations

from observatory.store.queries.sums.span_sums import durations_layer
from observatory.wire.records import Action

GROUP_SUMS = durations_layer(
    "group-durations",
    named="task_group",
    keys="task_group",
    columns="group_id AS task_group",
    rows=f"span WHERE action = {int(Action.COMPUTE)}",
)
