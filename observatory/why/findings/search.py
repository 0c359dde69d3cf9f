"""Looks for findings of all kinds: the failure first, then the most costly."""

from __future__ import annotations

from collections.abc import Mapping

from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Finding, FindingKind

MOST = 50
"""findings of a window"""

Named = tuple[str, Finding]
"""the name of the kind, and one of its findings"""


def find(evidence: Evidence, kinds: Mapping[str, FindingKind]) -> list[Named]:
    """Return the findings of all kinds; one that another explains is left out."""
    found = [(name, finding) for name, kind in kinds.items() for finding in kind.find(evidence)]
    kept = [one for one in found if not any(_explains(other, one, kinds) for other in found)]
    kept.sort(
        key=lambda one: (not kinds[one[0]].is_failure, -one[1].cost.thread_seconds, one[0], one[1].sentence)
    )
    return kept[:MOST]


def _explains(cause: Named, effect: Named, kinds: Mapping[str, FindingKind]) -> bool:
    return cause[0] in kinds[effect[0]].explained_by and cause[1].overlaps(effect[1])
