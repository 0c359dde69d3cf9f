"""Which clusters of a collector have open pages, asked after a commit (publishing/open_pages.py says why).

Clusters that ask while a request is on its way share the next one.
"""

from __future__ import annotations

from collections.abc import Sequence

import redis.asyncio as redis

from observatory.collect.collector.coalesced_calls import CoalescedCalls
from observatory.store.blocks.live_frames import channel_of


class OpenPages:
    """Asks Redis how many subscribers the groups of clusters have. For one event loop."""

    def __init__(self, server: redis.Redis) -> None:
        self.server = server
        self.has: CoalescedCalls[int, bool] = CoalescedCalls(self._have)
        """Whether a cluster has open pages now; True while Redis doesn't answer."""

    async def _have(self, clusters: Sequence[int]) -> list[bool | Exception]:
        try:
            counts = await self.server.pubsub_numsub(*map(channel_of, clusters))
        except (redis.RedisError, OSError):
            return [True] * len(clusters)
        return [bool(pages) for _, pages in counts]
