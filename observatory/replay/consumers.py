"""The socket of an open page: what was committed of its cluster, as blocks."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth.models import AnonymousUser, User
from django.http import Http404

from observatory.clusters.access import get_cluster
from observatory.replay.tiles import extent_block, nothing
from observatory.store import timeline
from observatory.store.connection import reading
from observatory.store.publication import group_of

SIGNED_OUT, NOT_THERE = 4401, 4404
CHECK_ACCESS_EVERY = 30.0
"""seconds: who loses a project's membership loses its live pages within them"""


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Frames of /ws/clusters/{id}/live. Memory is bounded by the channel layer, which drops for who is slow:
    the page sees the jump in the sequence and fetches again what is open."""

    group = ""
    checking: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        await self.accept()
        if isinstance(self.scope["user"], AnonymousUser):
            await self._refuse(SIGNED_OUT, "Sign in to see this cluster.")
            return
        self.group = group_of(self._cluster_id())
        await self.channel_layer.group_add(self.group, self.channel_name)
        extent = await self._extent()
        if extent is not None:
            await self.send(bytes_data=extent)  # what the page catches up to
            self.checking = asyncio.create_task(self._check_access())

    async def disconnect(self, code: int) -> None:
        if self.checking:
            self.checking.cancel()
        if self.group:
            await self.channel_layer.group_discard(self.group, self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A page has nothing to say here."""
        await self._refuse(1003, "This socket only sends.")

    async def live_frame(self, message: dict[str, Any]) -> None:
        """From the writer (observatory.store.publication)."""
        await self.send(bytes_data=message["data"])

    async def _extent(self) -> bytes | None:
        """The extent's block, or None where the cluster may not be seen: then the socket is closed."""
        try:
            found: bytes = await _extent(self.scope["user"].pk, self._cluster_id())
        except Http404 as error:
            await self._refuse(NOT_THERE, str(error))
            return None
        return found

    async def _check_access(self) -> None:
        while await self._extent() is not None:
            await asyncio.sleep(CHECK_ACCESS_EVERY)

    async def _refuse(self, code: int, reason: str) -> None:
        await self.send(text_data=json.dumps({"error": reason}))
        await self.close(code)

    def _cluster_id(self) -> int:
        return int(self.scope["url_route"]["kwargs"]["cluster_id"])


@database_sync_to_async  # type: ignore[untyped-decorator]
def _extent(user_id: int, cluster_id: int) -> bytes:
    """The cluster's `extent` block. Asks anew who the user is: rights change while a page is open."""
    user = User.objects.filter(pk=user_id, is_active=True).first()
    if user is None:
        raise Http404("Your account was closed.")
    cluster = get_cluster(user, cluster_id)
    with reading() as connection:
        return extent_block(timeline.extent(connection, cluster.pk) or nothing(cluster), cluster)
