"""Slows the scrapes of a target down while its records wait for the database, or the process has too much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

CALM = 5.0
"""Seconds that the oldest record may wait before scrapes slow down."""
LARGEST_FACTOR = 8.0
RECORDED_FACTOR = 2.0
"""The factor from which on charts have holes, so that the slowdown is recorded."""
LONGEST_PERIOD = 60.0
"""Seconds after which a slowdown that goes on is recorded."""


@dataclass(frozen=True, slots=True)
class Period:
    """A time of slow scrapes, in seconds on the scheduler's clock."""

    first: float
    last: float
    factor: float
    """The largest in it."""


class Slowdown:
    """The factor by which intervals are longer now: the wait of the oldest record in units of CALM.

    It is no less than what the process admits.
    """

    def __init__(self, waited: Callable[[], float], admitted: Callable[[], float] = lambda: 1.0) -> None:
        self.waited = waited
        """Seconds that the oldest record has waited since it was due."""
        self.admitted = admitted
        """The factor of all that the process does (load/admission.py)."""
        self.period: Period | None = None
        """The current slowdown, as far as it is not recorded yet."""

    @property
    def own_factor(self) -> float:
        """As far as this target's records wait."""
        return min(LARGEST_FACTOR, max(1.0, self.waited() / CALM))

    @property
    def beside_others(self) -> float:
        """As far as this target's records wait longer than those of all."""
        return max(1.0, self.own_factor / self.admitted())

    @property
    def factor(self) -> float:
        return max(self.own_factor, self.admitted())

    @property
    def recorded_factor(self) -> float:
        """The factor if it makes holes in charts, else 1."""
        return self.factor if self.factor >= RECORDED_FACTOR else 1.0

    def ended_period(self, now: float) -> Period | None:
        """The slowdown that has to be recorded now, if there is one. To be called every second."""
        factor, period = self.factor, self.period
        if factor >= RECORDED_FACTOR:
            first, largest = (period.first, period.factor) if period is not None else (now, factor)
            period = self.period = Period(first, now, max(factor, largest))
            if now - first < LONGEST_PERIOD:
                return None
        self.period = None
        return period
