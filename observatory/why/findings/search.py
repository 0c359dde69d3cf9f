"""Looks for findings of all kinds: the failure first, then the most costly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from observatory.clusters.formatting import format_duration
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Cost, Fact, FindingKind
from observatory.why.findings.simulated_costs import Named, with_simulated_costs

MOST = 50
"""findings of a window"""
LEAST_REST = 0.01
"""of a cost, that others have as well: less is rounding"""


def find(evidence: Evidence, kinds: Mapping[str, FindingKind]) -> list[Named]:
    """Return the findings of all kinds; one that another explains is left out."""
    found = [(name, finding) for name, kind in kinds.items() for finding in kind.find(evidence)]
    kept = [one for one in found if not any(_explains(other, one, kinds) for other in found)]
    counted = list(_counted_once(evidence, _sorted(kept, kinds), kinds))
    return _sorted(with_simulated_costs(evidence, counted, kinds), kinds)[:MOST]


def _sorted(found: Sequence[Named], kinds: Mapping[str, FindingKind]) -> list[Named]:
    return sorted(
        found,
        key=lambda one: (
            not kinds[one[0]].is_failure,
            -one[1].cost.wall_seconds,
            -one[1].cost.thread_seconds,
            one[0],
            one[1].sentence,
        ),
    )


def _explains(cause: Named, effect: Named, kinds: Mapping[str, FindingKind]) -> bool:
    return cause[0] in kinds[effect[0]].explained_by and cause[1].overlaps(effect[1])


def _counted_once(
    evidence: Evidence, found: Sequence[Named], kinds: Mapping[str, FindingKind]
) -> Iterator[Named]:
    """Yield the findings, which together cost no more of a kind of time than the threads were in it.

    A finding costs what those before it leave of its kinds. One that isn't worth it any more is left out.
    """
    left = dict(evidence.waits.seconds)
    for name, finding in found:
        kind, cost = kinds[name], finding.cost.thread_seconds
        rest = cost
        for of in kind.counts:
            taken = min(left[of], rest)
            left[of] -= taken
            rest -= taken
        if not kind.counts or rest <= LEAST_REST * cost:
            yield name, finding
            continue
        reduced = Cost(cost - rest, finding.cost.wall_seconds * (1 - rest / cost))
        if kind.is_failure or evidence.is_worth(reduced):
            fact = Fact("time that other findings have as well", format_duration(rest))
            yield name, replace(finding, cost=reduced, facts=(*finding.facts, fact))
