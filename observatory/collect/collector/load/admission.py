"""How much is fetched: what can't be stored in time isn't fetched, or the process spends itself on waste.

One factor for the process says by how much longer all intervals are than their settings. It grows within
seconds when the process has more work than it can do or records wait for the database, and falls within a
minute when they don't. What it leaves is shared between the projects: one that asks for less than its share
keeps its intervals. Workers' samples become rarer first, then what schedulers say; event streams never.

Workers' samples wait in line (line.py), so that a change of the factor has its effect at once: if each
interval were prolonged when it begins, all would be too rare and too frequent in turn. The wait for the
database is held near LONGEST_WAIT, in proportion and by its sum over time: the database then always has work.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, median

from observatory.collect.collector.load.beginnings import MOST_BEGINNING, MOST_BEGINNING_UNDER_LOAD
from observatory.collect.collector.load.line import Line
from observatory.collect.collector.load.process_load import ProcessLoad

INTERVAL = 1.0
"""Seconds between two changes of the factor."""
MEASURED = 4
"""Intervals of which the mean is what the process does: its targets are written together every few seconds
(pace.py), and a second in which they are would otherwise count for more than those in which they aren't."""
LARGEST_FACTOR = 64.0
LARGEST_OF_OTHERS = 8.0
"""The most by which the machine or the database makes intervals longer: others may keep them busy, too."""
LEAST_SHARE = 0.5
"""of what the process can do, from which on a machine that is too busy makes intervals longer: if it does
less, others keep the machine busy, and asking for less would change nothing"""
LARGEST_OF_BEGINNINGS = 4.0
"""The most by which the process's own work makes intervals longer while targets wait to begin: the first
records of a cluster take long, whatever the intervals are."""
LARGEST_GROWTH, LARGEST_GROWTH_OF_OTHERS = 1.5, 1.1
"""of the factor in an interval"""
GROWING, FALLING = 0.5, 0.2
"""exponents of the load by which the factor changes: near 1 it changes slowly, and so comes to rest"""
RECOVERY = 0.92
"""of the factor in an interval: the largest is 1 again after a minute"""
LONGEST_WAIT = 5.0
"""Seconds that half of the targets' records may wait for the database once they are due."""
PROPORTIONAL, INTEGRAL = 0.7, 0.03
"""of the factor's logarithm, for a wait that is LONGEST_WAIT too long; the latter in an interval"""
SMOOTHING = 0.3
"""by which a new wait counts: records are written in batches"""
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
    scrapes: float = 0.0
    """Of its workers, a second."""
    largest: float = LARGEST_FACTOR
    """The factor by which their interval is as long as any."""


class Admission:
    """The budget of one collector: `run` adjusts it until it is cancelled."""

    def __init__(self, load: ProcessLoad) -> None:
        self.load = load
        self.demands: dict[int, Demand] = {}
        """By target."""
        self.factor = 1.0
        self.has_beginnings = False
        """Whether targets wait to begin."""
        self._pressures: deque[float] = deque(maxlen=MEASURED)
        self._of_load = 1.0
        """The factor without what the database adds."""
        self._waited = 0.0
        """Seconds, as a mean of the last intervals."""
        self._of_waits = 0.0
        """The logarithm of the factor that the waits so far have added up to."""
        self._of_projects: Mapping[int, float] = {}
        self.line = Line()

    def of_workers(self, project: int) -> float:
        """The factor by which a project's workers are read less often."""
        return self._of_projects.get(project, self.factor)

    def of_schedulers(self, project: int) -> float:
        """The same of /metrics of its schedulers."""
        return max(1.0, self.of_workers(project) / OF_SCHEDULERS)

    @property
    def most_beginning(self) -> int:
        """How many targets may begin at a time now."""
        has_time = self._pressure <= 1.0 and self.load.lateness <= 1.0 and self._waited <= LONGEST_WAIT
        return MOST_BEGINNING if has_time else MOST_BEGINNING_UNDER_LOAD

    @property
    def _pressure(self) -> float:
        return fmean(self._pressures) if self._pressures else 0.0

    async def run(self) -> None:
        while True:
            await self.line.run(INTERVAL)
            self.adjust()

    def adjust(self) -> None:
        """Changes the factor by the load of the last second."""
        self._of_load = self._after_load()
        waited = median(demand.waited for demand in self.demands.values()) if self.demands else 0.0
        self.factor = max(self._of_load, self._after_wait(waited))
        requests: defaultdict[int, float] = defaultdict(float)
        for demand in self.demands.values():
            requests[demand.project] += demand.requests
        self._of_projects = shared_factors(requests, self.factor)
        self.line.rates = self._rates()

    def _after_load(self) -> float:
        growth: float
        self._pressures.append(self.load.pressure)
        pressure, lateness = self._pressure, self.load.lateness
        if pressure > 1.0:
            growth, largest = min(LARGEST_GROWTH, pressure**GROWING), LARGEST_FACTOR
            if self.has_beginnings:
                largest = max(LARGEST_OF_BEGINNINGS, self._of_load)
        elif lateness > 1.0 and pressure > LEAST_SHARE:
            growth = min(LARGEST_GROWTH_OF_OTHERS, lateness**GROWING)
            largest = max(LARGEST_OF_OTHERS, self._of_load * RECOVERY)
        else:
            load = max(pressure, lateness) if pressure > LEAST_SHARE else pressure
            growth, largest = max(RECOVERY, load**FALLING), LARGEST_FACTOR
        return min(largest, max(1.0, self._of_load * growth))

    def _after_wait(self, waited: float) -> float:
        self._waited += SMOOTHING * (waited - self._waited)
        excess, most = self._waited / LONGEST_WAIT - 1.0, math.log(LARGEST_OF_OTHERS)
        self._of_waits = max(0.0, min(most, self._of_waits + INTEGRAL * excess))
        return math.exp(max(0.0, min(most, self._of_waits + PROPORTIONAL * excess)))

    def _rates(self) -> dict[int, float]:
        """Scrapes of workers a second, of the projects whose intervals are longer."""
        rates: defaultdict[int, float] = defaultdict(float)
        for demand in self.demands.values():
            factor = self.of_workers(demand.project)
            if factor > 1.0:
                rates[demand.project] += demand.scrapes / min(factor, demand.largest)
        return dict(rates)


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
