"""Which targets begin to be observed now: a few at a time, each wholly, instead of all at once and none.

The first records of a cluster take many times as long as later ones: pages of an unknown shape are
parsed, and each of some hundred series gets its row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from observatory.clusters.models import Target

MOST_BEGINNING, MOST_BEGINNING_UNDER_LOAD = 50, 15
"""Targets that begin at a time; the second while the process has too much to do."""
LONGEST_BEGINNING = 10.0
"""Seconds after which one that still begins keeps no other waiting."""


def first_in_turn(waiting: Iterable[Target], most: int) -> list[Target]:
    """As many targets as may begin: of each project one after the other, the oldest first."""
    of_projects: defaultdict[int, list[Target]] = defaultdict(list)
    for target in sorted(waiting, key=lambda target: target.pk):
        of_projects[target.project_id].append(target)
    turns = [(turn, target.pk, target) for each in of_projects.values() for turn, target in enumerate(each)]
    return [target for _, _, target in sorted(turns, key=lambda turn: turn[:2])][: max(0, most)]
