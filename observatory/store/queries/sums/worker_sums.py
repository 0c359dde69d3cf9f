"""Sums of computing spans by prefix and worker."""

from __future__ import annotations

from observatory.store.queries.sums.span_sums import DURATIONS, GREATEST, has_more, span_query
from observatory.store.queries.sums.sum_layer import SumLayer
from observatory.wire.records import Action

SPANS = span_query(
    "prefix, worker",
    "prefix_id AS prefix, worker_id AS worker",
    f"span JOIN lane ON lane.id = lane_id WHERE action = {int(Action.COMPUTE)}",
)

WORKER_SUMS = SumLayer(
    name="worker-sums",
    kinds=("span",),
    keys=("prefix", "worker"),
    added=("count", "seconds"),
    greatest=GREATEST,
    durations=DURATIONS,
    query=f"SELECT prefix, worker, bin, count, seconds, longest FROM ({SPANS}) AS spans",
    has_more=has_more,
    named=("prefix",),
    named_by="seconds",
    most_rows=100_000,
)
"""A tile of 500 workers has the workers of its 25 prefixes that took longest."""
