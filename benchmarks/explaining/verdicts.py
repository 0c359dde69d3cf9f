"""Compares what was found in a scenario with its cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.measuring.results import Result
from tests.why.scenarios.scenario import Scenario

LEAST_FIRST, LEAST_AMONG_THREE, LEAST_COSTS = 0.9, 1.0, 0.75
"""shares of the scenarios"""
COST_ERROR = 0.3
"""share of what is saved without the cause, by which a cost may be off"""
MOST_WRONG = 1
"""findings of all healthy workloads together"""


HEALTHY = "findings of healthy workloads"


@dataclass(frozen=True)
class Verdict:
    """What was found of a scenario's cause."""

    name: str
    cause: str
    is_judged: bool
    place: int | None
    """of its finding, from 1; None: not found"""
    cost: float
    """wall seconds of the finding"""
    saved: float
    """seconds by which the run without the cause was shorter"""
    error: float | None
    """of the cost, as a share of what was saved; None where the cause costs no time"""
    is_held: bool | None
    """by the interval of the cost; None where no cost is known, or it is a sum"""
    sentences: tuple[str, ...]


def verdict(scenario: Scenario, findings: Sequence[dict[str, Any]], saved: float) -> Verdict:
    places = [place for place, one in enumerate(findings, 1) if one["kind"] == scenario.cause]
    cost = sum(one["wall_seconds"] for one in findings if one["kind"] == scenario.cause)
    error = abs(cost - saved) / max(saved, 0.1) if scenario.has_cost else None
    return Verdict(
        scenario.name,
        scenario.cause,
        scenario.is_judged,
        places[0] if places else None,
        cost,
        saved,
        error,
        _is_held([one for one in findings if one["kind"] == scenario.cause], saved)
        if scenario.has_cost
        else None,
        tuple(one["sentence"] for one in findings),
    )


def _is_held(findings: Sequence[dict[str, Any]], saved: float) -> bool | None:
    if not findings or any(one["least_wall_seconds"] is None for one in findings):
        return None
    least, most = (sum(one[f"{end}_wall_seconds"] for one in findings) for end in ("least", "most"))
    return bool(least <= saved <= most)


def results_of(verdicts: Sequence[Verdict], wrong: int, healthy: int) -> list[Result]:
    """`wrong`: number of findings of the healthy workloads, of which there are `healthy`."""
    judged = [one for one in verdicts if one.is_judged]
    built_on = [one for one in verdicts if not one.is_judged]
    found = sum(len(one.sentences) for one in verdicts)
    causes = sum(one.place is not None for one in verdicts)
    held = [one.is_held for one in verdicts if one.is_held is not None]
    return [
        *_shares(judged, "scenarios that the detectors were not built on", is_limited=True),
        *_shares(built_on, "scenarios that the detectors were built on", is_limited=False),
        Result("precision: findings that are the cause", f"{found} findings", _share(causes, found)),
        Result(
            "intervals of costs that hold what is saved",
            f"{len(held)} simulated costs",
            _share(sum(held), len(held)),
        ),
        Result(HEALTHY, f"{healthy} workloads", wrong, MOST_WRONG),
    ]


def _shares(verdicts: Sequence[Verdict], against: str, *, is_limited: bool) -> list[Result]:
    against = f"{len(verdicts)} {against}"
    with_cost = [one for one in verdicts if one.error is not None]
    shares = [
        ("the cause is the first finding", [one.place == 1 for one in verdicts], LEAST_FIRST),
        (
            "the cause is among the first three",
            [one.place is not None and one.place <= 3 for one in verdicts],
            LEAST_AMONG_THREE,
        ),
        (
            "the cost is within 30 % of what is saved without the cause",
            [one.error is not None and one.error <= COST_ERROR for one in with_cost],
            LEAST_COSTS,
        ),
    ]
    return [
        Result(what, against, _share(sum(holds), len(holds)), limit if is_limited else None, at_least=True)
        for what, holds, limit in shares
    ]


def _share(part: int, all: int) -> float:
    return round(part / all, 3) if all else 0.0
