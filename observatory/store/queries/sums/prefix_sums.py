"""Sums of spans by prefix, action and duration."""

from __future__ import annotations

from observatory.store.queries.sums.span_sums import durations_layer

PREFIX_SUMS = durations_layer(
    "prefix-durations",
    named="prefix",
    keys="prefix, action",
    columns="prefix_id AS prefix, action::int AS action",
    rows="span WHERE true",
)
