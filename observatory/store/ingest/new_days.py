"""Limits the days for which a source makes partitions: a day is a table with indexes for each kind of record.

The days around today are made ahead. A source needs others when it sends what waited for days, or when the
server was away for longer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import date

MOST = 10
"""new days of a source in PERIOD"""
PERIOD = 3600.0
"""seconds"""
REMEMBERED = 1_000
"""sources; those whose period is over are forgotten beyond it"""


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """Which times the records of a source may have."""

    source: str
    """whose new days are counted together"""
    earliest: float = 0.0
    """seconds: older records are refused"""
    can_wait: bool = False
    """whether the source keeps a batch that is refused for now, and sends it again"""


class TooManyNewDays(Exception):
    """A batch needs more new days than its source may make now; it can be stored later."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"more than {MOST} new days may not begin in an hour: send the batch later")
        self.seconds = seconds


@dataclass(slots=True)
class _Period:
    ends: float
    """monotonic"""
    days: set[date] = field(default_factory=set)


class NewDays:
    """The days that were permitted to each source in its current period. Thread-safe."""

    def __init__(self) -> None:
        self._periods: dict[str, _Period] = {}
        self._lock = threading.Lock()

    def permit(self, limit: TimeLimit, days: AbstractSet[date]) -> AbstractSet[date]:
        """Those of the new days that may be made, the latest first.

        Raises TooManyNewDays where more of them may be made later, if the source can wait.
        """
        with self._lock:
            period = self._period(limit.source)
            wanted = sorted(days - period.days, reverse=True)
            left = MOST - len(period.days)
            if limit.can_wait and left < min(len(wanted), MOST):
                raise TooManyNewDays(period.ends - time.monotonic())
            period.days.update(wanted[:left])
            return days & period.days

    def _period(self, source: str) -> _Period:
        now = time.monotonic()
        found = self._periods.get(source)
        if found is None or found.ends <= now:
            if len(self._periods) >= REMEMBERED:
                self._periods = {name: each for name, each in self._periods.items() if each.ends > now}
            found = self._periods[source] = _Period(now + PERIOD)
        return found


NEW_DAYS = NewDays()
"""of this process"""
