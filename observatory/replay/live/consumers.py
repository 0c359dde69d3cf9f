"""The WebSocket of a live page: sends blocks of what is committed to its cluster."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import django.db
import psycopg
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.http import Http404

from observatory.clusters.access import Person, get_cluster
from observatory.clusters.accounts.proxy_sign_in import user_of_socket
from observatory.replay.live.subscription import subscribe, unsubscribe
from observatory.replay.tiles.extent_block import empty_extent, extent_meta
from observatory.store.connection import read_connection
from observatory.store.queries.dimensions import dimensions_version
from observatory.store.queries.extents import read_extent
from observatory.wire.timeline_blocks import EXTENT

SIGNED_OUT, NOT_FOUND, TOO_SLOW = 4401, 4404, 4408
UNSUPPORTED, UNAVAILABLE = 1003, 1011
"""RFC 6455, 7.4.1"""
CHECK_ACCESS_EVERY = 30.0
"""seconds, within which signing out or losing membership closes a user's live pages"""
MAXIMUM_PENDING = 8_000_000
"""bytes queued for a page that reads slowly"""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a socket is closed."""

    code: int
    reason: str


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Sends /ws/clusters/{id}/live: what is committed, and the current state once a second.

    The queues of the channel layer are unbounded. So frames are received at once, one task sends them, and at
    most MAXIMUM_PENDING bytes are queued for a page that reads slowly.
    """

    async def connect(self) -> None:
        await self.accept()
        self.outgoing: asyncio.Queue[bytes | Refusal] = asyncio.Queue()
        self.pending = 0
        self.refused = False
        self.tasks: list[asyncio.Task[None]] = []
        # subscribes before it reads the extent, so that every later batch arrives as a frame
        await subscribe(self._cluster_id(), self._receive_frame)
        extent = await self._read(_extent)
        self.tasks.append(asyncio.create_task(self._send_all(extent)))
        if extent is not None:
            self.tasks.append(asyncio.create_task(self._check_access()))

    async def disconnect(self, code: int) -> None:
        for task in self.tasks:
            task.cancel()
        await self._leave()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Close the socket: pages send nothing."""
        await self._refuse(UNSUPPORTED, "This socket only sends.")

    async def _receive_frame(self, frame: bytes) -> None:
        if self.refused:
            return
        if self.pending + len(frame) > MAXIMUM_PENDING:
            await self._refuse(TOO_SLOW, "This page reads too slowly: it is reloaded.")
            return
        self.pending += len(frame)
        self.outgoing.put_nowait(frame)

    async def _send_all(self, extent: bytes | None) -> None:
        """Send the extent, if access was granted, then the queued frames."""
        try:
            if extent is not None:
                await self.send(bytes_data=extent)
            while True:
                item = await self.outgoing.get()
                if isinstance(item, Refusal):
                    await self.send(text_data=json.dumps({"error": item.reason}))
                    await self.close(item.code)
                    return
                await self.send(bytes_data=item)
                self.pending -= len(item)
        except OSError:
            return  # the page closed the connection; `disconnect` is called next

    async def _check_access(self) -> None:
        while True:
            await asyncio.sleep(CHECK_ACCESS_EVERY)
            if await self._read(get_cluster) is None:
                return

    async def _read(self, read: Callable[[Person, int], T]) -> T | None:
        """Return what `read` does of the user's cluster; without access close the socket and return None."""
        try:
            # again each time: users sign out, and rights change, while a page is open
            user = await user_of_socket(self.scope)
            if not user.is_authenticated:
                await self._refuse(SIGNED_OUT, "Sign in to see this cluster.")
                return None
            found: T = await database_sync_to_async(read)(user, self._cluster_id())
        except Http404 as error:
            await self._refuse(NOT_FOUND, str(error))
        except (psycopg.Error, django.db.Error):
            await self._refuse(UNAVAILABLE, "The database isn't available.")
        else:
            return found
        return None

    async def _refuse(self, code: int, reason: str) -> None:
        """Close the socket after the frame being sent; queued frames are dropped."""
        if self.refused:
            return
        self.refused = True
        while not self.outgoing.empty():
            self.outgoing.get_nowait()
        self.outgoing.put_nowait(Refusal(code, reason))
        await self._leave()

    async def _leave(self) -> None:
        await unsubscribe(self._cluster_id(), self._receive_frame)

    def _cluster_id(self) -> int:
        return int(self.scope["url_route"]["kwargs"]["cluster_id"])


def _extent(user: Person, cluster_id: int) -> bytes:
    """Return the first `extent` block of a socket. Raises Http404 if `user` has no access."""
    cluster = get_cluster(user, cluster_id)
    with read_connection() as connection:
        version = dimensions_version(connection, cluster.pk)
        meta = extent_meta(read_extent(connection, cluster.pk) or empty_extent(cluster), cluster)
    return EXTENT.encode({}, {**meta, "lanes_version": version})
