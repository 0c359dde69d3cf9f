"""Frames for the live pages of a cluster, shared by all pages that this process serves.

There is one channel-layer subscription and one state per second, however many pages are open.
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

from observatory.base.api_response import encode_json
from observatory.clusters.live.unheard import unheard_seconds
from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.replay.state import state_at
from observatory.store.blocks.live_frames import group_of, joined
from observatory.store.connection import read_connection
from observatory.store.queries import timeline
from observatory.store.times import seconds_to_microseconds
from observatory.wire.timeline_blocks import STATE, TARGET

log = logging.getLogger(__name__)

FIRST_STATE = 0.5
"""seconds before the first state, so that computing it does not delay the rows that a page draws first"""
STATE_INTERVAL = 1.0
"""seconds between two states"""
PAUSE_FACTOR = 3.0
"""the pause after a state, at least, as a multiple of the time that it took: long with many workers"""
FRAME_INTERVAL = 0.25
"""seconds between two frames to a page; blocks of the meantime are joined, as sending is the main cost"""

Receiver = Callable[[bytes], Awaitable[None]]


class ClusterSubscription:
    """Sends committed blocks and `state` blocks of a cluster to its receivers, in one event loop."""

    def __init__(self, cluster: int) -> None:
        self.cluster = cluster
        self.receivers: set[Receiver] = set()
        self.layer = get_channel_layer()
        self.channel = asyncio.create_task(self._join_group())
        self.queue: list[bytes] = []
        self.has_frames = asyncio.Event()
        loops = (self._receive, self._make_states, self._deliver)
        self.tasks = [asyncio.create_task(loop()) for loop in loops]

    async def close(self) -> None:
        """Leave the group; the loops also end by themselves, in case a library swallows the cancellation."""
        try:
            await self.layer.group_discard(group_of(self.cluster), await self.channel)
        finally:
            for task in self.tasks:
                task.cancel()

    async def _join_group(self) -> str:
        channel: str = await self.layer.new_channel()
        await self.layer.group_add(group_of(self.cluster), channel)
        return channel

    async def _receive(self) -> None:
        """Queue what the writer publishes (observatory.store.ingest.publishing.publication)."""
        channel = await self.channel
        while self.receivers:
            message = await self.layer.receive(channel)
            self._enqueue(message["data"])

    async def _make_states(self) -> None:
        await asyncio.sleep(FIRST_STATE)
        while self.receivers:
            began = time.monotonic()
            try:
                state = await _state_block(self.cluster)
            except (psycopg.Error, django.db.Error, ValueError) as error:
                log.warning("no state for the live pages of cluster %d: %s", self.cluster, str(error)[:200])
            else:
                if state is not None:
                    self._enqueue(state)
            spent = time.monotonic() - began
            await asyncio.sleep(max(STATE_INTERVAL - spent, spent * PAUSE_FACTOR))

    def _enqueue(self, frame: bytes) -> None:
        self.queue.append(frame)
        self.has_frames.set()

    async def _deliver(self) -> None:
        while self.receivers:
            await self.has_frames.wait()
            self.has_frames.clear()
            queued, self.queue = self.queue, []
            for frame in joined(queued):
                for receive in list(self.receivers):
                    await receive(frame)
            await asyncio.sleep(FRAME_INTERVAL)


_subscriptions: dict[int, ClusterSubscription] = {}
"""by cluster"""


async def subscribe(cluster: int, receiver: Receiver) -> None:
    """Send everything published after this returns to `receiver`. Raises what the broker's client raises."""
    if (subscription := _subscriptions.get(cluster)) is None:
        subscription = _subscriptions[cluster] = ClusterSubscription(cluster)
    subscription.receivers.add(receiver)
    try:
        await asyncio.shield(subscription.channel)
    except BaseException:
        await unsubscribe(cluster, receiver)
        raise


async def unsubscribe(cluster: int, receiver: Receiver) -> None:
    """End a subscription; does nothing without one."""
    subscription = _subscriptions.get(cluster)
    if subscription is None or receiver not in subscription.receivers:
        return
    subscription.receivers.remove(receiver)
    if not subscription.receivers:
        del _subscriptions[cluster]
        await subscription.close()


@database_sync_to_async  # type: ignore[untyped-decorator]
def _state_block(cluster_id: int) -> bytes | None:
    """Encode the target's status and the current state; None if the cluster isn't live."""
    cluster = Cluster.objects.select_related("target").filter(pk=cluster_id, ended=None).first()
    if cluster is None:
        return None
    at = time.time()
    now = at + (cluster.target.clock_offset if cluster.target else 0.0)
    with read_connection() as connection, timeline.snapshot(connection):
        state = state_at(connection, Scope(cluster), seconds_to_microseconds(now))
    return _target_block(cluster, at) + STATE.encode({}, state, to_json=encode_json)


def _target_block(cluster: Cluster, at: float) -> bytes:
    target, unheard = cluster.target, unheard_seconds(cluster, at)
    stream, error = (target.stream, target.last_error) if target else ("", "")
    return TARGET.encode({}, {"stream": stream, "last_error": error, "unheard": unheard})
