"""What a browser would send of a rule's page."""

from __future__ import annotations

from typing import Any

MEMORY = {
    "kind": "metric",
    "metric": "observatory_worker_memory_bytes",
    "labels": 'type="process"',
    "function": "value",
    "window_seconds": "1 min",
    "by": "worker",
    "aggregate": "sum",
    "quantile": "0.95",
    "operation": "/",
    "other": "attribute",
    "other_attribute": "memory_limit",
    "comparison": ">",
    "threshold": "80 %",
    "clear_threshold": "70 %",
    "event": "",
    "level": "0",
    "count": "1",
    "measure": "duration",
    "run_name": "",
    "earlier_runs": "10",
    "fewest_runs": "3",
}
"""a worker's memory is above 80 % of its limit"""

BLANK = MEMORY | {
    "metric": "",
    "labels": "",
    "other": "",
    "other_attribute": "",
    "threshold": "",
    "clear_threshold": "",
}
"""as nobody has written anything"""

LOST = MEMORY | {
    "kind": "event",
    "event": "worker-lost",
    "metric": "",
    "threshold": "",
    "clear_threshold": "",
    "other": "",
}


RUN = LOST | {"kind": "run", "event": "", "run_name": "night*", "threshold": "20 %", "window_seconds": "1 h"}
"""a run is slower than usual"""


def rule_form(*conditions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The form of a rule that isn't saved yet."""
    conditions = conditions or (MEMORY,)
    data: dict[str, Any] = {
        "name": "Memory of workers",
        "enabled": "on",
        "severity": "warning",
        "hold_seconds": "0",
        "no_data": "resolve",
        "cluster_names": "",
        "conditions-TOTAL_FORMS": len(conditions),
        "conditions-INITIAL_FORMS": sum("id" in condition for condition in conditions),
        "conditions-MIN_NUM_FORMS": 0,
        "conditions-MAX_NUM_FORMS": 4,
    }
    for number, condition in enumerate(conditions):
        data |= {f"conditions-{number}-{name}": value for name, value in condition.items()}
    return data | fields
