"""Looks for findings of all kinds: the failure first, then the most costly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from observatory.clusters.formatting import format_duration
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Cost, Fact, FindingKind
from observatory.why.findings.simulated_costs import Named, with_simulated_costs
from observatory.why.thread_times.kinds import ThreadKind

MOST_FINDINGS = 50
"""findings of a window"""
LEAST_REST = 0.01
"""of a cost, that others have as well: less is rounding"""


def find(evidence: Evidence, kinds: Mapping[str, FindingKind]) -> list[Named]:
    """Return the findings of all kinds; one that another explains is left out.

    One without which the window would have taken as long explains none.
    """
    found = [(name, finding) for name, kind in kinds.items() for finding in kind.find(evidence)]
    kept, useless = _kept(evidence, found, kinds)
    if any(_explains(one, other, kinds) for one in useless for other in found):
        others = [one for one in found if not any(one is other for other in useless)]
        kept, _ = _kept(evidence, others, kinds)
    return _sorted(kept, kinds)[:MOST_FINDINGS]


def _kept(
    evidence: Evidence, found: Sequence[Named], kinds: Mapping[str, FindingKind]
) -> tuple[list[Named], list[Named]]:
    """Those that none explains, with their costs; and those of `found` that save nothing."""
    unexplained = [one for one in found if not any(_explains(other, one, kinds) for other in found)]
    counted = list(_counted_once(evidence, _sorted(unexplained, kinds), kinds))
    kept, places = with_simulated_costs(evidence, counted, kinds)
    useless = [counted[place] for place in places]
    return kept, [one for one in found if any(_is_same(one, other) for other in useless)]


def _is_same(one: Named, counted: Named) -> bool:
    """Whether it is one that was counted once, which can have another cost and more facts."""
    return one[0] == counted[0] and one[1].sentence == counted[1].sentence


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
        parts = finding.parts or ((kind.counts, cost),)
        rest = sum(_left_over(left, of, seconds) for of, seconds in parts)
        if not kind.counts or rest <= LEAST_REST * cost:
            yield name, finding
            continue
        reduced = Cost(cost - rest, finding.cost.wall_seconds * (1 - rest / cost))
        if kind.is_failure or evidence.is_worth(reduced):
            fact = Fact("time that other findings have as well", format_duration(rest))
            yield name, replace(finding, cost=reduced, facts=(*finding.facts, fact))


def _left_over(left: dict[ThreadKind, float], kinds: Sequence[ThreadKind], seconds: float) -> float:
    """Take seconds of the time that is left of some kinds; returns those of which nothing is left."""
    for kind in kinds:
        taken = min(left[kind], seconds)
        left[kind] -= taken
        seconds -= taken
    return seconds
