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

LONGEST_WAIT = REQUEST_TIMEOUT + 1
"""Seconds: longer than a request takes, also of a process that is busy for a while, as two requests at a time
would then be mixed up. A scheduler that hangs does not keep the others of its process from being read."""

_locks: WeakValueDictionary[float, asyncio.Lock] = WeakValueDictionary()


@asynccontextmanager
async def turn(process_start: float | None) -> AsyncIterator[None]:
    """Waits until no other request to the process is under way.

    `process_start`: its metric process_start_time_seconds, which tells processes apart; None: not known yet.
    """
    if process_start is None:
        yield
        return
    lock = _locks.setdefault(process_start, asyncio.Lock())
    has_lock = False
    with suppress(TimeoutError):
        async with asyncio.timeout(LONGEST_WAIT):
            has_lock = await lock.acquire()
    try:
        yield
    finally:
        if has_lock:
            lock.release()
