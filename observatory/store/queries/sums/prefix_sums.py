"""Sums of spans by prefix, action and duration."""

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

PREFIX_SUMS = SumLayer(
    name="prefix-durations",
    kinds=("span",),
    keys=("prefix", "action", "bucket"),
    added=ADDED,
    greatest=GREATEST,
    least=LEAST,
    durations=(*DURATIONS, *LEAST),
    query=span_query(
        "prefix, action, bucket", "prefix_id AS prefix, action::int AS action", "span WHERE true"
    ),
    has_more=has_more,
    named=("prefix",),
    named_by="seconds",
    most_rows=MOST_ROWS,
)
