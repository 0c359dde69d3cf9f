"""Limits what a source may begin: days without partitions, and names.

A day is a table with indexes for each kind of record. Those around today are made ahead; a source needs
others when it sends what waited for days, or when the server was away for longer. Names are remembered, and
stay as long as their cluster.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import date

MOST_DAYS = 10
"""new days of a source in PERIOD"""
MOST_NAMES = 200_000
"""new names of a source in PERIOD"""
PERIOD = 3600.0
"""seconds"""
REMEMBERED = 1_000
"""sources; those whose period is over are forgotten beyond it"""


@dataclass(frozen=True, slots=True)
class SourceLimit:
    """What records a source may have."""

    source: str
    """whose new days and names are counted together"""
    earliest: float = 0.0
    """seconds: older records are refused"""
    can_wait: bool = False
    """whether the source keeps a batch that is refused for now, and sends it again"""


class TooManyNewDays(Exception):
    """A batch needs more new days than its source may begin now; it can be stored later."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"more than {MOST_DAYS} new days may not begin in an hour: send the batch later")
        self.seconds = seconds


@dataclass(slots=True)
class _Period:
    ends: float
    """monotonic"""
    days: set[date] = field(default_factory=set)
    names: int = 0


class SourceLimits:
    """What was permitted to each source in its current period. Thread-safe."""

    def __init__(self) -> None:
        self._periods: dict[str, _Period] = {}
        self._lock = threading.Lock()

    def permit_days(self, limit: SourceLimit, days: AbstractSet[date]) -> AbstractSet[date]:
        """Those of the new days that may begin, the latest first.

        Raises TooManyNewDays where more of them may begin later, if the source can wait.
        """
        with self._lock:
            period = self._period(limit.source)
            wanted = sorted(days - period.days, reverse=True)
            left = MOST_DAYS - len(period.days)
            if limit.can_wait and left < min(len(wanted), MOST_DAYS):
                raise TooManyNewDays(period.ends - time.monotonic())
            period.days.update(wanted[:left])
            return days & period.days

    def permit_names(self, source: str, count: int) -> int:
        """How many of so many new names may be stored."""
        with self._lock:
            period = self._period(source)
            permitted = min(count, MOST_NAMES - period.names)
            period.names += permitted
            return permitted

    def _period(self, source: str) -> _Period:
        now = time.monotonic()
        found = self._periods.get(source)
        if found is None or found.ends <= now:
            if len(self._periods) >= REMEMBERED:
                self._periods = {name: each for name, each in self._periods.items() if each.ends > now}
            found = self._periods[source] = _Period(now + PERIOD)
        return found


SOURCE_LIMITS = SourceLimits()
"""of this process"""
