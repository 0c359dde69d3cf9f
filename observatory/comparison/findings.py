"""Which findings of a run another one doesn't have, and which cost more or less."""

from __future__ import annotations

from typing import Any

from observatory.runs.finding_marks import LOOKED_AT, is_same
from observatory.runs.models import Run

LEAST_CHANGE, LEAST_SECONDS = 0.25, 1.0
"""share of the larger cost, and seconds of threads, by which costs differ at least"""

Item = dict[str, Any]


def compared_findings(a: Run, b: Run) -> Item:
    """The findings of both runs in pairs: of the same kind, and about prefixes of the same names.

    What only `a` has is new, what only `b` has is gone. A run that wasn't looked at has none to compare.
    """
    known = a.known_findings, b.known_findings
    states = [None if each is None else str(each.state) for each in known]
    are_known = all(state in LOOKED_AT for state in states)
    pairs = _pairs(*(each.all if each else [] for each in known)) if are_known else []
    return {"a": states[0], "b": states[1], "pairs": pairs}


def _pairs(of_a: list[Item], of_b: list[Item]) -> list[Item]:
    """In the order of `of_a`, then of `of_b`."""
    left = list(of_b)
    pairs = []
    for one in of_a:
        other = next((each for each in left if is_same(one, each)), None)
        if other is not None:
            left.remove(other)
        pairs.append(_pair(one, other))
    return pairs + [_pair(None, other) for other in left]


def _pair(a: Item | None, b: Item | None) -> Item:
    return {
        "verdict": _verdict(a, b),
        "kind": (a or b or {})["kind"],
        "a": a and _side(a),
        "b": b and _side(b),
    }


def _side(finding: Item) -> Item:
    return {name: finding[name] for name in ("sentence", "thread_seconds", "wall_seconds")}


def _verdict(a: Item | None, b: Item | None) -> str:
    if a is None or b is None:
        return "gone" if a is None else "new"
    seconds, before = a["thread_seconds"], b["thread_seconds"]
    if abs(seconds - before) < max(LEAST_SECONDS, LEAST_CHANGE * max(seconds, before)):
        return "same"
    return "more" if seconds > before else "less"
