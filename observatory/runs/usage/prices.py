"""What usage costs at the prices that a project set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from observatory.clusters.models import Project
from observatory.runs.models import Run

HOUR = 3_600.0
GIB = 2**30


def cost_of(project: Project, amounts: Mapping[str, float]) -> float:
    """The cost of `amounts`, which are named as the fields of Usage, in the project's currency."""
    hours = {name: amounts[name] / HOUR for name in ("thread_seconds", "memory_seconds", "worker_seconds")}
    return (
        float(project.thread_hour_price) * hours["thread_seconds"]
        + float(project.gib_hour_price) * hours["memory_seconds"] / GIB
        + float(project.worker_hour_price) * hours["worker_seconds"]
    )


def cost_of_run(run: Run) -> dict[str, Any] | None:
    """`amount`, `currency` and what it is made of; None without a price, or before figures are counted."""
    project, figures = run.cluster.project, run.figures
    if not project.has_price or figures.get("worker_seconds") is None:
        return None
    amounts = amounts_of(figures)
    return {"amount": cost_of(project, amounts), "currency": project.currency, **amounts}


def amounts_of(figures: Mapping[str, Any]) -> dict[str, float]:
    """What a run is billed for: all that its workers existed, but for what threads computed for others."""
    threads = figures["lane_seconds"]
    own = max(0.0, 1 - figures.get("other_seconds", 0.0) / threads) if threads else 1.0
    return {
        "thread_seconds": own * threads,
        "memory_seconds": own * figures["memory_seconds"],
        "worker_seconds": own * figures["worker_seconds"],
    }
