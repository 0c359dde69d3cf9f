"""Which of our targets speaks for a scheduler that two of them reach. Kept in Redis, for all collectors.

Without it two targets of ours would take the event stream from each other, and store every sample twice. When
Redis is away everybody may: the stream's own patience (silence.py) bounds the quarrel.
"""

from __future__ import annotations

import logging

import redis.asyncio as redis

from observatory.collect.collector.cancellation import raise_if_cancelled

logger = logging.getLogger(__name__)

DURATION = 15


class Claims:
    """Claims that end by themselves when nobody renews them."""

    def __init__(self, server: redis.Redis) -> None:
        self.server = server

    async def hold(self, what: str, target: int) -> bool:
        """Claims `what` for the target, or renews its claim. False when another target has it."""
        held = await self._hold(what, target)
        raise_if_cancelled()
        return held

    async def _hold(self, what: str, target: int) -> bool:
        name = f"observatory:claim:{what}"
        try:
            if await self.server.set(name, str(target), nx=True, ex=DURATION):
                return True
            if await self.server.get(name) != str(target).encode():
                return False
            await self.server.expire(name, DURATION)
        except (redis.RedisError, OSError) as error:
            logger.debug("a claim can't be checked: %s", error)
        return True
