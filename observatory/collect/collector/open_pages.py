"""Which clusters of a collector have open pages, asked after a commit (publishing/open_pages.py says why).

Clusters that ask while a request is on its way share the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import redis.asyncio as redis

from observatory.collect.collector.cancellation import raise_if_cancelled
from observatory.store.live_frames import channel_of


class _Request:
    """A request that is not sent yet, or answered."""

    def __init__(self) -> None:
        self.clusters: set[int] = set()
        self.watched: set[int] | None = None
        """those with open pages; None: not answered"""


class OpenPages:
    """Asks Redis how many subscribers the groups of clusters have. For one event loop."""

    def __init__(self, server: redis.Redis) -> None:
        self.server = server
        self.sending = asyncio.Lock()
        self.next = _Request()

    async def has(self, cluster: int) -> bool:
        """Whether the cluster has open pages now; True while Redis doesn't answer."""
        request = self.next
        request.clusters.add(cluster)
        async with self.sending:
            if request.watched is None:
                self.next = _Request()
                request.watched = await self._watched(request.clusters)
        raise_if_cancelled()
        return cluster in request.watched

    async def _watched(self, clusters: Iterable[int]) -> set[int]:
        asked = list(clusters)
        try:
            counts = await self.server.pubsub_numsub(*map(channel_of, asked))
        except (redis.RedisError, OSError):
            return set(asked)
        return {cluster for cluster, (_, pages) in zip(asked, counts, strict=True) if pages}
