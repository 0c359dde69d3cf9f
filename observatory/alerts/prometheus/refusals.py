"""Refusals of parts of expressions: why, and what to do instead."""

from __future__ import annotations

import re

import promql_parser as promql

OVER_TIME = "compare the value itself, and let the condition hold with “for”"
ONE_BY_ONE = "compare the metric itself: each series has an alert of its own"
FUNCTIONS = {
    "histogram_quantile": "histograms aren't supported; use the maximum, or quantile(0.9, …) of a metric",
    "irate": "use rate",
    "idelta": "use delta",
    "predict_linear": "compare deriv(…), the change per second, or a lower threshold",
    "changes": "count an event: Observatory records workers and schedulers that come, go and restart",
    "resets": "count an event: Observatory records workers and schedulers that come, go and restart",
    "absent_over_time": "use absent(…) and “for”",
    "time": "use an event, such as the end of a run, or a metric's change with “for”",
    "clamp_max": "compare the value itself",
    "clamp_min": "compare the value itself",
    "label_replace": "alerts have the worker's name as label worker",
}
AGGREGATIONS = {
    "count": "compare the sum of a metric that counts, such as dask_scheduler_workers",
    "count_values": "compare the sum of a metric that counts, such as dask_scheduler_workers",
    "topk": ONE_BY_ONE,
    "bottomk": ONE_BY_ONE,
    "stddev": "compare a quantile or the maximum",
    "stdvar": "compare a quantile or the maximum",
}
OPERATORS = {
    "or": "make a rule of each side",
    "unless": "reverse the comparison on its right and join it with “and”",
    "+": 'select several series of one metric, such as state=~"waiting|queued", and sum them',
    "*": "a metric can be multiplied by a number",
}
READY_MADE = (
    (re.compile(r"\bcontainer_memory_|\bprocess_resident_memory_bytes|\bnode_memory_"), "worker-memory"),
    (re.compile(r"\bkube_(?:pod|deployment|statefulset|replicaset)_"), "worker-lost"),
    (re.compile(r"\b(?:changes|resets)\((?:up|process)"), "worker-lost"),
    (re.compile(r"\bnode_filesystem_|\bkubelet_volume_"), "disk-usage"),
    (re.compile(r"\bup\b"), "unreachable"),
)
"""by what an unsupported expression has in it: the key of the ready-made rule for it"""


class Unsupported(ValueError):
    """A part of an expression that our rules don't support, and why."""

    def __init__(self, part: promql.Expr | str, why: str) -> None:
        text = part if isinstance(part, str) else part.prettify()
        self.part = " ".join(text.split())[:200]
        self.why = why
        super().__init__(f"{self.part}: {why}")


def of_function(expression: promql.Expr, name: str) -> Unsupported:
    advice = OVER_TIME if name.endswith("_over_time") else ""
    return Unsupported(expression, _with(f"the function {name} isn't supported", FUNCTIONS.get(name, advice)))


def of_aggregation(expression: promql.Expr, name: str) -> Unsupported:
    return Unsupported(
        expression, _with(f"the aggregation “{name}” isn't supported", AGGREGATIONS.get(name, ""))
    )


def of_operator(expression: promql.Expr, name: str) -> Unsupported:
    return Unsupported(expression, _with(f"“{name}” isn't supported here", OPERATORS.get(name, "")))


def of_changing_gauge(metric: str) -> str:
    return (
        f"combines with the rate or change of {metric}, a gauge by its name: a rule combines with the value "
        "of a gauge. Compare the values, such as a / b > 2, or use a counter, whose name ends in _total"
    )


def ready_made_for(expression: str) -> str:
    """The key of the ready-made rule that does what an unsupported expression is for; "" if none does."""
    return next((key for pattern, key in READY_MADE if pattern.search(expression)), "")


def _with(why: str, advice: str) -> str:
    return f"{why}: {advice}" if advice else why
