"""Claims in Redis: which of several targets with the same scheduler observes it. Shared by all collectors.

Without claims two targets would take the event stream from each other and store every sample twice. While
Redis is unreachable every claim is granted; the subscribers of an event stream (stream/subscriber.py) then
limit how often two targets take it from each other.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Sequence

import redis as blocking_redis
import redis.asyncio as redis

from observatory.collect.collector.cancellation import raise_if_cancelled
from observatory.collect.collector.coalesced_calls import CoalescedCalls

logger = logging.getLogger(__name__)

PREFIX = "observatory:claim:"
DURATION = 15
"""Seconds until a claim expires."""
RENEWAL = 4.0
"""Seconds after which a claim is renewed."""
MOST_REMEMBERED = 10_000
MOST_AT_ONCE = 20
"""Claims that are checked at a time. redis-py refuses more than 100 connections."""


def of_cluster(cluster: int) -> str:
    """The name of the claim on a cluster."""
    return f"cluster:{cluster}"


def observed_clusters(server: blocking_redis.Redis, clusters: Sequence[int]) -> set[int]:
    """Those of some clusters that a collector observes. Raises RedisError without Redis."""
    if not clusters:
        return set()
    found = server.mget([f"{PREFIX}{of_cluster(cluster)}" for cluster in clusters])
    return {cluster for cluster, target in zip(clusters, found, strict=True) if target is not None}


class Claims:
    """Claims that expire unless they are renewed."""

    def __init__(self, server: redis.Redis) -> None:
        self.server = server
        self.slots = asyncio.Semaphore(MOST_AT_ONCE)
        self._extend: CoalescedCalls[str, bytes | None] = CoalescedCalls(self._extended)
        self.renewed: dict[tuple[str, int], float] = {}
        """When Redis last confirmed a claim (monotonic), by name and target."""

    async def hold(self, name: str, target: int) -> bool:
        """Claims `name` for the target, or renews the claim when due. False when another target has it."""
        if time.monotonic() - self.renewed.get((name, target), -math.inf) < RENEWAL:
            return True
        held = await self._is_held(name, target)
        if not held:
            async with self.slots:
                held = await self._hold(name, target)
        raise_if_cancelled()
        return held

    async def _is_held(self, name: str, target: int) -> bool:
        """Renews a claim that was held, as nearly all are. False if it isn't held now, or Redis is away."""
        if (name, target) not in self.renewed:
            return False
        try:
            held = await self._extend(f"{PREFIX}{name}") == str(target).encode()
        except (redis.RedisError, OSError):
            return False
        if held:
            self.renewed[name, target] = time.monotonic()
        return held

    async def _extended(self, keys: Sequence[str]) -> list[bytes | Exception | None]:
        """The values of keys, which then expire later: of all targets that renew now, by one request."""
        async with self.server.pipeline(transaction=False) as request:
            for key in keys:
                request.getex(key, ex=DURATION)
            found: list[bytes | Exception | None] = await request.execute(raise_on_error=False)
        return found

    async def _hold(self, name: str, target: int) -> bool:
        key = f"{PREFIX}{name}"
        value = str(target).encode()
        try:
            if not await self.server.set(key, value, nx=True, ex=DURATION):
                if await self.server.get(key) != value:
                    return False
                await self.server.expire(key, DURATION)
        except (redis.RedisError, OSError) as error:
            logger.debug("cannot check a claim in Redis: %s", error)
            return True
        if len(self.renewed) >= MOST_REMEMBERED:
            self.renewed.clear()
        self.renewed[name, target] = time.monotonic()
        return True
