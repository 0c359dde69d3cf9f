"""Limits what a source may begin in an hour: days without partitions, names, and rows that records refer to.

A day is a table with indexes for each kind of record. Those around today are made ahead; a source needs
others when it sends what waited for days, or when the server was away for longer. Names, workers, series and
stacks stay as long as their cluster. All processes count together in Redis, and each by itself without it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import TypeVar
from uuid import uuid4

from django.core.cache import cache as shared_cache
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.locmem import LocMemCache
from redis.exceptions import RedisError

log = logging.getLogger(__name__)
Found = TypeVar("Found")

MOST_DAYS = 10
"""new days of a source in PERIOD"""
MOST_NAMES = 200_000
"""new names of a source in PERIOD"""
PERIOD = 3600.0
"""seconds"""
REMEMBERED = 10_000
"""counts that a process keeps while Redis is away"""


class Rows(Enum):
    """Rows that stay as long as their cluster; the value names them in answers."""

    REFERRED = "workers, threads, series and stacks"
    RUNS = "starts and ends of runs"
    CLUSTERS = "clusters"


MOST_ROWS = {Rows.REFERRED: 2_000_000, Rows.RUNS: 20_000, Rows.CLUSTERS: 2_000}
"""new rows of a source in PERIOD. A cluster of 10,000 workers begins with a million"""


@dataclass(frozen=True, slots=True)
class SourceLimit:
    """What records a source may have."""

    source: str
    """whose new days, names and rows are counted together"""
    earliest: float = 0.0
    """seconds: older records are refused"""
    can_wait: bool = False
    """whether the source keeps a batch that is refused for now, and sends it again"""


class TooManyNew(Exception):
    """A batch needs more than its source may begin now; it can be stored later."""

    def __init__(self, most: int, what: str, seconds: float) -> None:
        super().__init__(f"more than {most} new {what} may not begin in an hour: send the batch later")
        self.seconds = seconds


class TooManyInBatch(Exception):
    """A batch has more than its source may begin in an hour."""

    def __init__(self, most: int, what: str, count: int) -> None:
        super().__init__(f"the batch has {count} new {what}: at most {most} may begin in an hour")


class SourceLimits:
    """What was permitted to each source. Thread-safe."""

    def __init__(self, shared: BaseCache | None = None) -> None:
        """`shared`: where all processes count; by default Redis."""
        self._shared = shared if shared is not None else shared_cache
        self._own = LocMemCache(f"source limits {uuid4()}", {"MAX_ENTRIES": REMEMBERED})

    def permit_days(self, limit: SourceLimit, days: AbstractSet[date]) -> AbstractSet[date]:
        """Those of the new days that may begin, the latest first.

        Raises TooManyNew where more of them may begin later, if the source can wait.
        """
        return self._count(lambda cache: _permit_days(cache, limit, days))

    def permit_names(self, source: str, count: int) -> int:
        """How many of so many new names may be stored."""
        before = self._count(lambda cache: _add(cache, "names", source, count)) - count
        return max(0, min(count, MOST_NAMES - before))

    def require(self, limit: SourceLimit | None, rows: Rows, count: int) -> None:
        """Counts new rows. Raises TooManyNew or TooManyInBatch if a source that can wait has too many."""
        if limit is None or not limit.can_wait or not count:
            return
        most = MOST_ROWS[rows]
        if count > most:
            raise TooManyInBatch(most, rows.value, count)
        if self._count(lambda cache: _add(cache, rows.name, limit.source, count)) > most:
            self._count(lambda cache: _add(cache, rows.name, limit.source, -count))
            raise TooManyNew(most, rows.value, PERIOD - time.time() % PERIOD)

    def _count(self, use: Callable[[BaseCache], Found]) -> Found:
        try:
            return use(self._shared)
        except RedisError as error:
            log.warning("this process alone counts what sources begin, Redis is unavailable: %s", error)
            return use(self._own)


def _permit_days(cache: BaseCache, limit: SourceLimit, days: AbstractSet[date]) -> AbstractSet[date]:
    """A day takes one of the source's places for PERIOD; `add` gives it to one process only."""
    places = [_key("day", limit.source, number) for number in range(MOST_DAYS)]
    taken: dict[str, tuple[date, float]] = cache.get_many(places)
    begun = {day for day, _ in taken.values()}
    ends = sorted(ends for _, ends in taken.values())
    free = iter([place for place in places if place not in taken])
    wanted = sorted(days - begun, reverse=True)
    for count, day in enumerate(wanted):
        until = time.time() + PERIOD
        if not any(cache.add(place, (day, until), PERIOD) for place in free):
            if limit.can_wait and count < MOST_DAYS:
                first = ends[0] if ends else until
                raise TooManyNew(MOST_DAYS, "days", max(0.0, first - time.time()))
            break
        begun.add(day)
    return days & begun


def _add(cache: BaseCache, what: str, source: str, count: int) -> int:
    """How many the source began in this hour, with these."""
    key = _key(what, source, int(time.time() // PERIOD))
    cache.add(key, 0, 2 * PERIOD)
    try:
        return cache.incr(key, count)
    except ValueError:  # the cache was emptied in between
        cache.set(key, count, 2 * PERIOD)
        return count


def _key(what: str, source: str, number: int) -> str:
    return f"new-{what}:{source}:{number}".replace(" ", "-")


SOURCE_LIMITS = SourceLimits()
"""of this process"""
