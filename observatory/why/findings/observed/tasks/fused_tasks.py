"""Tasks that are fused of steps of which the first one had been computed before, as each reads a table again.

Dask names a task that several steps were fused into by all of them, the first one first. A step that was
kept would be what it needs, and no part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from observatory.why.critical_path.predecessors import Predecessors
from observatory.why.findings.observed.tasks.computations import Computations
from observatory.why.intervals import Integers

FEWEST = 4
"""tasks of a step"""
SHORTEST = 0.1
"""seconds of a step"""
LEAST_SHARE = 0.8
"""of what the step took by itself, that tasks take which have it in them"""


@dataclass(frozen=True, slots=True)
class FusedAgain:
    prefix: int
    """of the tasks that were computed before"""
    prefixes: tuple[int, ...]
    """of the tasks that have them in them"""
    rows: Integers
    """the computations of these"""
    seconds: float
    """that one of `prefix` took"""


def fused_again(
    found: Computations, names: Mapping[int, str], needed_by: Callable[[int], Predecessors]
) -> Iterator[FusedAgain]:
    """Yield the prefixes that later tasks, as many as theirs, have in them. `names`: of prefixes, as Dask
    has them; `needed_by`: what the computations of a prefix needed."""
    rows = {id: np.flatnonzero((found.spans.prefix == id) & found.finished) for id in found.counts}
    for id, own in rows.items():
        seconds = float(np.median(found.durations[own])) if len(own) >= FEWEST else 0.0
        if seconds < SHORTEST or id not in names:
            continue
        fused = [one for one in rows if names.get(one, "").startswith(f"{names[id]}-")]
        again = [one for one in fused if _have_in_them(found, own, rows[one], seconds, needed_by, one)]
        if again:
            yield FusedAgain(id, tuple(again), np.concatenate([rows[one] for one in again]), seconds)


def _have_in_them(
    found: Computations,
    before: Integers,
    rows: Integers,
    seconds: float,
    needed_by: Callable[[int], Predecessors],
    prefix: int,
) -> bool:
    """Whether tasks of a prefix are as many, began later, take as long at least, and need nothing."""
    task, times = found.spans.task, found.spans.times
    count = len(np.unique(task[before]))
    if len(np.unique(task[rows])) != count:
        return False
    done = np.sort(times.stop[before])[count - 1]
    are_long = found.durations[rows].min() >= LEAST_SHARE * seconds
    return bool(times.start[rows].min() >= done and are_long and not needed_by(prefix).counts[rows].any())
