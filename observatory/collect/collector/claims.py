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

import redis.asyncio as redis

from observatory.collect.collector.cancellation import raise_if_cancelled

logger = logging.getLogger(__name__)

DURATION = 15
"""Seconds until a claim expires."""
RENEWAL = 4.0
"""Seconds after which a claim is renewed."""
MOST_REMEMBERED = 10_000
MOST_AT_ONCE = 20
"""Claims that are checked at a time. redis-py refuses more than 100 connections."""


class Claims:
    """Claims that expire unless they are renewed."""

    def __init__(self, server: redis.Redis) -> None:
        self.server = server
        self.slots = asyncio.Semaphore(MOST_AT_ONCE)
        self.renewed: dict[tuple[str, int], float] = {}
        """When Redis last confirmed a claim (monotonic), by name and target."""

    async def hold(self, name: str, target: int) -> bool:
        """Claims `name` for the target, or renews the claim when due. False when another target has it."""
        if time.monotonic() - self.renewed.get((name, target), -math.inf) < RENEWAL:
            return True
        async with self.slots:
            held = await self._hold(name, target)
        raise_if_cancelled()
        return held

    async def _hold(self, name: str, target: int) -> bool:
        key = f"observatory:claim:{name}"
        value = str(target).encode()
        try:
            # mostly it is held already, and one command renews it
            is_held = (name, target) in self.renewed and await self.server.getex(key, ex=DURATION) == value
            if not is_held and not await self.server.set(key, value, nx=True, ex=DURATION):
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
