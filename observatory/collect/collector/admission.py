"""How much is fetched: what can't be stored in time isn't fetched, or the process spends itself on waste.

One factor for the process says by how much longer all intervals are than their settings. It grows within
seconds when the process has more work than it can do or records wait for the database, and falls within a
minute when they don't. What it leaves is shared between the projects: one that asks for less than its share
keeps its intervals. Workers' samples become rarer first, then what schedulers say; event streams never.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from observatory.collect.collector.process_load import ProcessLoad

INTERVAL = 1.0
"""Seconds between two changes of the factor."""
LARGEST_FACTOR = 64.0
LARGEST_OF_OTHERS = 8.0
"""The most by which the machine or the database makes intervals longer: others may keep them busy, too."""
LEAST_SHARE = 0.5
"""of what the process can do, from which on a machine that is too busy makes intervals longer: if it does
less, others keep the machine busy, and asking for less would change nothing"""
LARGEST_GROWTH = 1.5
"""of the factor in an interval"""
RECOVERY = 0.93
"""of the factor in an interval: the largest is 1 again after a minute"""
LONGEST_WAIT = 5.0
"""Seconds that half of the targets' records may wait for the database once they are due."""
OF_SCHEDULERS = 4.0
"""The factor of workers' samples from which on schedulers are asked less often, too."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a target asks for at the intervals that are set, and how it fares."""

    project: int
    requests: float
    """a second"""
    waited: float
    """Seconds that its oldest record has waited for the database since it was due."""


class Admission:
    """The budget of one collector: `run` adjusts it until it is cancelled."""

    def __init__(self, load: ProcessLoad) -> None:
        self.load = load
        self.demands: dict[int, Demand] = {}
        """By target."""
        self.factor = 1.0
        self._of_load = 1.0
        """The factor without what the database adds."""
        self._of_projects: Mapping[int, float] = {}

    def of_workers(self, project: int) -> float:
        """The factor by which a project's workers are read less often."""
        return self._of_projects.get(project, self.factor)

    def of_schedulers(self, project: int) -> float:
        """The same of /metrics of its schedulers."""
        return max(1.0, self.of_workers(project) / OF_SCHEDULERS)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            self.adjust()

    def adjust(self) -> None:
        """Changes the factor by the load of the last second."""
        if self.load.pressure > 1.0:
            growth, largest = self.load.pressure, LARGEST_FACTOR
        elif self.load.lateness > 1.0 and self.load.pressure > LEAST_SHARE:
            growth, largest = self.load.lateness, max(LARGEST_OF_OTHERS, self._of_load * RECOVERY)
        else:
            growth, largest = RECOVERY, LARGEST_FACTOR
        self._of_load = min(largest, max(1.0, self._of_load * min(LARGEST_GROWTH, growth)))
        waited = median(demand.waited for demand in self.demands.values()) if self.demands else 0.0
        self.factor = max(self._of_load, min(LARGEST_OF_OTHERS, waited / LONGEST_WAIT))
        requests: defaultdict[int, float] = defaultdict(float)
        for demand in self.demands.values():
            requests[demand.project] += demand.requests
        self._of_projects = shared_factors(requests, self.factor)


def shared_factors(requests: Mapping[int, float], factor: float) -> dict[int, float]:
    """The factor of each project, where all together get their requests divided by `factor`.

    Each project gets what it asks for, but no more than any project that gets less than it asks for.
    """
    left, factors = sum(requests.values()) / factor, {}
    ordered = sorted(requests, key=lambda project: requests[project])
    for place, project in enumerate(ordered):
        share = min(requests[project], left / (len(ordered) - place))
        factors[project] = max(1.0, requests[project] / share) if share else 1.0
        left -= share
    return factors
