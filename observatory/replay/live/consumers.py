"""The socket of an open page: what was committed of its cluster, as blocks."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from importlib import import_module

import django.db
import psycopg
from channels.auth import get_user
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.http import Http404

from observatory.clusters.access import get_cluster
from observatory.replay.live import subscription
from observatory.replay.tiles.builder import empty_extent, extent_block
from observatory.store.connection import read_connection
from observatory.store.queries.extents import read_extent

SIGNED_OUT, NOT_FOUND, TOO_SLOW = 4401, 4404, 4408
UNSUPPORTED, UNAVAILABLE = 1003, 1011
"""RFC 6455, 7.4.1"""
CHECK_ACCESS_EVERY = 30.0
"""seconds: who signs out or loses a project's membership loses its live pages within them"""
MAXIMUM_PENDING = 8_000_000
"""bytes that wait for a page to read them"""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the socket is closed, and with which code."""

    code: int
    reason: str


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Frames of /ws/clusters/{id}/live: what is committed, and once a second the state now.

    The channel layer's queues have no bound. So frames are taken from it as they come, one task sends them,
    and at most MOST_PENDING bytes of them wait for a page that reads slowly.
    """

    async def connect(self) -> None:
        await self.accept()
        self.outgoing: asyncio.Queue[bytes | Refusal] = asyncio.Queue()
        self.pending = 0
        self.refused = False
        self.tasks: list[asyncio.Task[None]] = []
        # first the frames, which wait, then the extent: every batch after it comes as a frame
        await subscription.subscribe(self._cluster_id(), self._take)
        extent = await self._extent()
        self.tasks.append(asyncio.create_task(self._send_all(extent)))
        if extent is not None:
            self.tasks.append(asyncio.create_task(self._check_access()))

    async def disconnect(self, code: int) -> None:
        for task in self.tasks:
            task.cancel()
        await self._leave()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A page has nothing to say here."""
        await self._refuse(UNSUPPORTED, "This socket only sends.")

    async def _take(self, frame: bytes) -> None:
        if self.refused:
            return
        if self.pending + len(frame) > MAXIMUM_PENDING:
            await self._refuse(TOO_SLOW, "This page reads too slowly for what happens: it starts anew.")
            return
        self.pending += len(frame)
        self.outgoing.put_nowait(frame)

    async def _send_all(self, extent: bytes | None) -> None:
        """Sends the extent, for a page that may have it, and then what was taken since `follow`."""
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
            return  # the page is gone: `disconnect` comes next

    async def _check_access(self) -> None:
        while True:
            await asyncio.sleep(CHECK_ACCESS_EVERY)
            if await self._extent() is None:
                return

    async def _extent(self) -> bytes | None:
        """The extent's block; None where the page may not have it: then the socket is closed."""
        try:
            # anew from the session's row: people sign out, and rights change, while a page is open
            store = import_module(settings.SESSION_ENGINE).SessionStore
            user = await get_user({"session": store(self.scope["session"].session_key)})
            if not user.is_authenticated:
                await self._refuse(SIGNED_OUT, "Sign in to see this cluster.")
                return None
            found: bytes = await _extent(user, self._cluster_id())
        except Http404 as error:
            await self._refuse(NOT_FOUND, str(error))
        except (psycopg.Error, django.db.Error):
            await self._refuse(UNAVAILABLE, "The database doesn't answer.")
        else:
            return found
        return None

    async def _refuse(self, code: int, reason: str) -> None:
        """Closes the socket when the frame that is being sent is out; those that wait are forgotten."""
        if self.refused:
            return
        self.refused = True
        while not self.outgoing.empty():
            self.outgoing.get_nowait()
        self.outgoing.put_nowait(Refusal(code, reason))
        await self._leave()

    async def _leave(self) -> None:
        await subscription.unsubscribe(self._cluster_id(), self._take)

    def _cluster_id(self) -> int:
        return int(self.scope["url_route"]["kwargs"]["cluster_id"])


@database_sync_to_async  # type: ignore[untyped-decorator]
def _extent(user: AbstractUser, cluster_id: int) -> bytes:
    """The cluster's `extent` block; raises Http404 where `user` may not see it."""
    cluster = get_cluster(user, cluster_id)
    with read_connection() as connection:
        return extent_block(read_extent(connection, cluster.pk) or empty_extent(cluster), cluster)
