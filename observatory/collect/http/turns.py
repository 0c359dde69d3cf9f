"""Reads the /metrics of one process one after another.

Schedulers in one process, such as two LocalClusters of a notebook, share Dask's collectors. A request sets
the scheduler whose metrics they give, so that of two requests at a time one can get the other's
(distributed.http.scheduler.prometheus.core.PrometheusHandler; the worker's is alike).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from weakref import WeakValueDictionary

from observatory.collect.http.fetch import REQUEST_TIMEOUT
from observatory.collect.http.time_limits import TimeLimit

LONGEST_WAIT = REQUEST_TIMEOUT + 1
"""Seconds: longer than a request takes, also of a process that is busy for a while, as two requests at a time
would then be mixed up. A scheduler that hangs does not keep the others of its process from being read."""

LONGEST_BEGINNING = 1.0
"""Seconds that a scheduler's first page waits for those of others on its machine."""

_locks: WeakValueDictionary[float | str, asyncio.Lock] = WeakValueDictionary()
"""By the start of a process, and by host."""


@asynccontextmanager
async def turn(process_start: float | None) -> AsyncIterator[None]:
    """Waits until no other request to the process is under way.

    `process_start`: its metric process_start_time_seconds, which tells processes apart; None: not known yet.
    """
    if process_start is None:
        yield
        return
    async with _held(process_start, LONGEST_WAIT):
        yield


@asynccontextmanager
async def beginning(host: str) -> AsyncIterator[None]:
    """For the first pages of a scheduler, until it is known whose process is its.

    Schedulers of one process mostly begin to be observed together.
    """
    async with _held(host, LONGEST_BEGINNING):
        yield


@asynccontextmanager
async def _held(key: float | str, longest: float) -> AsyncIterator[None]:
    lock = _locks.setdefault(key, asyncio.Lock())
    has_lock = False
    with suppress(TimeoutError):
        async with TimeLimit(longest):
            has_lock = await lock.acquire()
    try:
        yield
    finally:
        if has_lock:
            lock.release()
