"""What findings cost, by simulations of the window without their causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from observatory.why.findings.finding import Cost, Finding, FindingKind
from observatory.why.what_if.change import Predictor
from observatory.why.what_if.doubt import Predicted
from observatory.why.what_if.without import Without

if TYPE_CHECKING:
    from observatory.why.findings.evidence import Evidence

MOST_SIMULATED = 100_000
"""computations, of all simulations together"""
LEAST_SAVED = 0.03
"""of the window: without a finding of less it would have taken as long"""
MORE, LEAST_MORE = 1.3, 0.05
"""times what findings save one by one, and share of the window above that, from which they explain the time
only together"""

Named = tuple[str, Finding]
"""the name of the kind, and one of its findings"""


def with_simulated_costs(
    evidence: Evidence, found: Sequence[Named], kinds: Mapping[str, FindingKind]
) -> tuple[list[Named], set[int]]:
    """Return the findings with what the window would have taken without each; sums where that isn't known.

    One without which the window would have taken as long is left out, unless the others save more with it.
    Its place is among those that are returned as well.
    """
    simulation = evidence.simulation if any(one.without for _, one in found) else None
    if simulation is None:
        return list(found), set()
    places = _simulated_places(simulation, found)
    without = {place: found[place][1].without or Without() for place in places}
    alone = {place: simulation.without(without[place]) for place in places}
    saved = {place: simulation.observed - alone[place].seconds for place in places}
    together = _together(simulation, without, saved)
    least = LEAST_SAVED * simulation.observed
    idle = [place for place in places if saved[place] < least and not kinds[found[place][0]].is_failure]
    useless = {place for place in idle if _adds(simulation, without, place, together) < least}
    priced = dict(enumerate(found))
    for place in places:
        name, finding = found[place]
        cost = _cost(finding.cost, simulation.observed, alone[place], together)
        priced[place] = name, replace(finding, cost=cost)
    return [priced[place] for place in range(len(found)) if place not in useless], useless


def _adds(simulation: Predictor, without: Mapping[int, Without], place: int, together: float) -> float:
    """What is saved with one finding more than without it, where findings save far more together; else 0."""
    if not together:
        return 0.0
    others = [one for other, one in without.items() if other != place]
    return together - (simulation.observed - simulation.without(Without.of_all(others)).seconds)


def _simulated_places(simulation: Predictor, found: Sequence[Named]) -> list[int]:
    """The most costly findings that can be simulated, as many as there is time for."""
    most = max(1, MOST_SIMULATED // max(len(simulation.plan), 1) - 1)
    return [place for place, (_, finding) in enumerate(found) if finding.without is not None][:most]


def _together(simulation: Predictor, without: Mapping[int, Without], saved: Mapping[int, float]) -> float:
    """What is saved without all of them, where that is far more than they save one by one; else 0."""
    if len(without) < 2:
        return 0.0
    found = simulation.observed - simulation.without(Without.of_all(list(without.values()))).seconds
    one_by_one = sum(saved.values())
    is_more = found > MORE * one_by_one and found > one_by_one + LEAST_MORE * simulation.observed
    return found if is_more else 0.0


def _cost(cost: Cost, observed: float, predicted: Predicted, together: float) -> Cost:
    interval = max(0.0, observed - predicted.most), min(observed, observed - predicted.least)
    return replace(cost, wall_seconds=observed - predicted.seconds, interval=interval, together=together)
