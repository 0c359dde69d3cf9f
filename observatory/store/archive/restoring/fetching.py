"""Fetches archived rows beside the requests that need them, which wait, then say how far it is."""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, Lock, Semaphore, Thread
from time import monotonic

import redis
from django.core.cache import cache

from observatory.store.archive.errors import ArchiveError, BeingFetched
from observatory.store.archive.restoring.bringing_back import bring_back

log = logging.getLogger(__name__)

AT_ONCE, MOST_FETCHES = 2, 50
"""fetches of a process that copy rows, and those with the ones that wait for these"""
INTERVAL = 0.5
"""seconds after which other processes know of progress"""
KNOWN_FOR = 30
"""seconds, should the process be killed"""


@dataclass(slots=True)
class _Fetch:
    cluster: int
    kinds: tuple[str, ...]
    is_over: Event = field(default_factory=Event)
    error: Exception | None = None
    _noted: float = 0.0

    def run(self) -> None:
        try:
            with _places:
                bring_back(self.cluster, self.kinds, self._note)
        except Exception as error:
            self.error = error
            if not isinstance(error, ArchiveError):
                log.warning("archived rows of cluster %d can't be fetched: %s", self.cluster, error)
        finally:
            with _lock:
                del _fetches[self.cluster, self.kinds]
            self.is_over.set()

    def _note(self, done: int, rows: int) -> None:
        if (now := monotonic()) > self._noted + INTERVAL:
            self._noted = now
            with suppress(redis.RedisError):
                cache.set(_key(self.cluster, self.kinds), (done, rows), KNOWN_FOR)


_fetches: dict[tuple[int, tuple[str, ...]], _Fetch] = {}
_lock = Lock()
_places = Semaphore(AT_ONCE)


def fetch(cluster: int, kinds: Collection[str], patience: float) -> None:
    """As `bring_back`, for up to `patience` seconds. Raises BeingFetched if it takes longer: it goes on."""
    of = tuple(sorted(kinds))
    found = _begin(cluster, of)
    if found is None or not found.is_over.wait(patience):
        raise BeingFetched(*_progress(cluster, of))
    if found.error is not None:
        raise found.error


def fetch_meanwhile(cluster: int, kinds: Collection[str]) -> None:
    """As `bring_back`, for who needs the rows soon, and waits for nothing now."""
    _begin(cluster, tuple(sorted(kinds)))


def _begin(cluster: int, kinds: tuple[str, ...]) -> _Fetch | None:
    """The fetch of these rows, which begins if nobody needed them before; None: too many are waiting."""
    with _lock:
        found = _fetches.get((cluster, kinds))
        if found is None and len(_fetches) < MOST_FETCHES:
            found = _fetches[cluster, kinds] = _Fetch(cluster, kinds)
            Thread(target=found.run, name=f"fetch-{cluster}", daemon=True).start()
        return found


def _progress(cluster: int, kinds: tuple[str, ...]) -> tuple[int, int]:
    """Of whichever process fetches these rows."""
    with suppress(redis.RedisError):
        done, rows = cache.get(_key(cluster, kinds), (0, 0))
        return done, rows
    return 0, 0


def _key(cluster: int, kinds: tuple[str, ...]) -> str:
    return f"fetched-rows-{cluster}-{'-'.join(kinds)}"
