"""Firings that are short and repeated, and the threshold to clear at that would join them.

Candidates for that threshold are evaluated with the evaluator's code. The closest to the threshold is offered
that at least halves the number of firings; if none does, the one with the fewest firings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from observatory.alerts.evaluation.window.outcomes import Outcome
from observatory.alerts.evaluation.window.state_machine import Firing, advance
from observatory.alerts.rules.conditions import Comparison, MetricCondition, RuleSpec
from observatory.alerts.rules.units import unit_of

SHORT = 60.0
"""seconds; firings of one subject flap if half of them are shorter"""
CLOSE = 300.0
"""seconds; or if one follows another after less than this"""
SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)
"""distances of the candidates from the threshold, as shares of it"""


@dataclass(frozen=True, slots=True)
class Lasted:
    """How long firings lasted, in seconds."""

    count: int
    median: float
    shortest: float


def durations(firings: Sequence[Firing], stop: float) -> list[float]:
    """The seconds for which each firing lasted, up to `stop` if it still fires."""
    return [(stop if each.resolved is None else each.resolved) - each.fired for each in firings]


def lasted(seconds: Sequence[float]) -> Lasted | None:
    """None without firings."""
    return Lasted(len(seconds), median(seconds), min(seconds)) if seconds else None


def too_short(outcome: Outcome, firings: Sequence[Firing], stop: float) -> list[float]:
    """The seconds of each stretch in which the rule was true for less than its hold time, so that it ended
    before `firings` (of the outcome) could have it."""
    fired = {firing.pending for firing in firings}
    stretches, _ = advance(None, outcome, stop, 0.0)
    return [
        stretch.resolved - stretch.pending
        for stretch in stretches
        if stretch.resolved is not None and stretch.pending not in fired
    ]


def is_flapping(firings: Sequence[Firing], stop: float) -> bool:
    """True if the firings of one subject, in their order, are short or follow each other closely."""
    if len(firings) < 2:
        return False
    gaps = (later.pending - (earlier.resolved or stop) for earlier, later in pairwise(firings))
    return median(durations(firings, stop)) < SHORT or min(gaps) < CLOSE


def clear_candidates(spec: RuleSpec) -> list[float]:
    """Thresholds at which the rule's first condition could clear, the closest to its threshold first.

    None for events and for a threshold of 0.
    """
    first = spec.conditions[0]
    if not isinstance(first, MetricCondition) or not first.threshold:
        return []
    rises = first.comparison in (Comparison.ABOVE, Comparison.AT_LEAST)
    side = -1 if rises else 1
    found = [first.threshold + side * share * abs(first.threshold) for share in SHARES]
    if not unit_of(first) and float(first.threshold).is_integer():
        found = [math.floor(value) if rises else math.ceil(value) for value in found]
    clear = first.threshold if first.clear_threshold is None else first.clear_threshold
    rounded = dict.fromkeys(float(f"{value:.12g}") for value in found)
    return [value for value in rounded if (clear - value if rises else value - clear) > 0]


def clearing_at(spec: RuleSpec, clear_threshold: float) -> RuleSpec:
    """The rule with another threshold to clear at. Its first condition is on a metric."""
    first, *others = spec.conditions
    assert isinstance(first, MetricCondition)
    return replace(spec, conditions=(replace(first, clear_threshold=clear_threshold), *others))


def best(counts: Sequence[int], now: int) -> int | None:
    """The index of the candidate to offer, by the firings that each has and those now. None: none helps."""
    halved = next((place for place, count in enumerate(counts) if 2 * count <= now), None)
    if halved is not None:
        return halved
    fewest = min(range(len(counts)), key=counts.__getitem__, default=None)
    return fewest if fewest is not None and counts[fewest] < now else None
