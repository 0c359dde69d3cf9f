"""What the open pages of a live cluster are told: once for all those that this process has open.

One subscription and one state a second, however many pages there are: a page more costs what sending costs.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

import django.db
import psycopg
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.replay.state import state_at
from observatory.store.connection import read_connection
from observatory.store.ingest.publication import group_of, joined
from observatory.store.queries import timeline
from observatory.wire.blocks import encode

log = logging.getLogger(__name__)

STATE_INTERVAL = 1.0
"""seconds between two states"""
FRAME_INTERVAL = 0.25
"""seconds between two frames to a page: what comes meanwhile goes out together, as sending is what costs"""

Receiver = Callable[[bytes], Awaitable[None]]


class ClusterSubscription:
    """Hands frames to the pages of a cluster: what is committed, and `state` blocks. For one event loop."""

    def __init__(self, cluster: int) -> None:
        self.cluster = cluster
        self.pages: set[Receiver] = set()
        self.layer = get_channel_layer()
        self.channel = asyncio.create_task(self._subscribe())
        self.waiting: list[bytes] = []
        self.has_come = asyncio.Event()
        works = (self._receive, self._tell_states, self._hand_on)
        self.tasks = [asyncio.create_task(work()) for work in works]

    async def close(self) -> None:
        """When no page is left, which ends a task whose cancellation a library took for itself, too."""
        try:
            await self.layer.group_discard(group_of(self.cluster), await self.channel)
        finally:
            for task in self.tasks:
                task.cancel()

    async def _subscribe(self) -> str:
        channel: str = await self.layer.new_channel()
        await self.layer.group_add(group_of(self.cluster), channel)
        return channel

    async def _receive(self) -> None:
        """What the writer publishes (observatory.store.ingest.publication)."""
        channel = await self.channel
        while self.pages:
            message = await self.layer.receive(channel)
            self._tell(message["data"])

    async def _tell_states(self) -> None:
        while self.pages:
            began = time.monotonic()
            try:
                state = await _state_block(self.cluster)
            except (psycopg.Error, django.db.Error, ValueError) as error:
                log.warning("open pages of cluster %d get no state: %s", self.cluster, str(error)[:200])
            else:
                if state is not None:
                    self._tell(state)
            spent = time.monotonic() - began
            await asyncio.sleep(max(STATE_INTERVAL - spent, spent))

    def _tell(self, frame: bytes) -> None:
        self.waiting.append(frame)
        self.has_come.set()

    async def _hand_on(self) -> None:
        while self.pages:
            await self.has_come.wait()
            self.has_come.clear()
            waiting, self.waiting = self.waiting, []
            for frame in joined(waiting):
                for take in list(self.pages):
                    await take(frame)
            await asyncio.sleep(FRAME_INTERVAL)


_feeds: dict[int, ClusterSubscription] = {}
"""by cluster"""


async def subscribe(cluster: int, take: Receiver) -> None:
    """From when this returns on, a page takes all that is published. Raises what the broker's client does."""
    if (feed := _feeds.get(cluster)) is None:
        feed = _feeds[cluster] = ClusterSubscription(cluster)
    feed.pages.add(take)
    try:
        await asyncio.shield(feed.channel)
    except BaseException:
        await unsubscribe(cluster, take)
        raise


async def unsubscribe(cluster: int, take: Receiver) -> None:
    """Ends `follow`; does nothing for a page that doesn't."""
    feed = _feeds.get(cluster)
    if feed is None or take not in feed.pages:
        return
    feed.pages.remove(take)
    if not feed.pages:
        del _feeds[cluster]
        await feed.close()


@database_sync_to_async  # type: ignore[untyped-decorator]
def _state_block(cluster_id: int) -> bytes | None:
    """None where there is nothing new: the cluster has ended, or isn't there. Raises ValueError on a NaN."""
    cluster = Cluster.objects.select_related("target").filter(pk=cluster_id, ended=None).first()
    if cluster is None:
        return None
    moment = time.time() + (cluster.target.clock_offset if cluster.target else 0.0)
    with read_connection() as connection, timeline.snapshot(connection):
        state = state_at(connection, Scope(cluster), round(moment * 1e6))
    return encode("state", 0, [], state)
