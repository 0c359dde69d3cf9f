"""How fast a project may send records, and how often its links are opened and its runs exported.

Windows are those of the clock, counted in the cache that all processes share. Without a limit nothing is
counted.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import cache
from redis.exceptions import RedisError

from observatory.clusters.formatting import format_bytes, format_count
from observatory.clusters.models import Project

MIB = 2**20

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rate:
    name: str
    field: str
    """of Project: its limit; empty: that of the setting"""
    setting: str
    seconds: int
    """of a window"""
    unit: int
    """what the limit counts, in what is taken"""
    word: str
    period: str


INGEST = Rate("ingest", "ingest_rate", "PROJECT_INGEST_RATE", 60, MIB, "batches of agents", "minute")
LINKS = Rate("links", "link_rate", "PROJECT_LINK_RATE", 60, 1, "requests of links", "minute")
EXPORTS = Rate("exports", "export_rate", "PROJECT_EXPORT_RATE", 3600, 1, "exports", "hour")
RATES = (INGEST, LINKS, EXPORTS)


class TooFast(Exception):
    """A project reached a rate. `seconds`: until the next window."""

    def __init__(self, rate: Rate, seconds: int) -> None:
        super().__init__(f"The project's limit of {rate.word} is reached for this {rate.period}: try later.")
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class RateStatus:
    rate: Rate
    limit: int
    used: int
    """in this window, in what is taken"""
    refused: int
    """in this window and the one before"""

    @property
    def sentence(self) -> str:
        show = format_bytes if self.rate.unit == MIB else format_count
        share = f"{show(self.used)} of {show(self.limit)} in this {self.rate.period}"
        says = f"{self.rate.word.capitalize()}: {share}"
        return f"{says}; {format_count(self.refused)} refused." if self.refused else f"{says}."


def limit_of(rate: Rate, project: Project) -> int | None:
    """None: there is none. Observatory's own project has none."""
    own = getattr(project, rate.field)
    limit = getattr(settings, rate.setting) if own is None else own
    return None if limit is None or project.is_own else round(limit * rate.unit)


def take(rate: Rate, project: Project, amount: int = 1) -> None:
    """Counts an amount, the last of a window in full. Raises TooFast where the limit was reached before."""
    limit = limit_of(rate, project)
    if limit is None:
        return
    at = time.time()
    window = int(at // rate.seconds)
    try:
        used = _add(rate, project, window, "used", amount)
        if used - amount < limit:
            return
        _add(rate, project, window, "used", -amount)
        _add(rate, project, window, "refused", 1)
    except (RedisError, ValueError) as error:  # away, or it dropped the key
        log.warning("the rates of projects are not limited, Redis is unavailable: %s", error)
        return
    raise TooFast(rate, max(1, math.ceil((window + 1) * rate.seconds - at)))


def statuses(project: Project) -> Iterator[RateStatus]:
    """Of the rates that have a limit; none while Redis is away."""
    for rate in RATES:
        limit = limit_of(rate, project)
        if limit is None:
            continue
        window = int(time.time() // rate.seconds)
        keys = {name: _key(rate, project, window, name) for name in ("used", "refused")}
        earlier = _key(rate, project, window - 1, "refused")
        try:
            found = cache.get_many([*keys.values(), earlier])
        except RedisError:
            return
        refused = found.get(keys["refused"], 0) + found.get(earlier, 0)
        yield RateStatus(rate, limit, found.get(keys["used"], 0), refused)


def _add(rate: Rate, project: Project, window: int, name: str, amount: int) -> int:
    key = _key(rate, project, window, name)
    cache.add(key, 0, 3 * rate.seconds)
    return int(cache.incr(key, amount))


def _key(rate: Rate, project: Project, window: int, name: str) -> str:
    return f"rate:{rate.name}:{project.pk}:{window}:{name}"
