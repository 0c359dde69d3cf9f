"""Requests take turns: no project, token, session or address takes all of a process' places.

Python runs one thread at a time, so each request that is worked on makes all others slower.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from http.cookies import CookieError, SimpleCookie
from typing import Any

from cachetools import LRUCache
from django.conf import settings

from observatory.clusters.tokens.ingest_tokens import digest_of
from observatory.store.places.askers import Asker
from observatory.store.places.shares import LOAD, RequestShares

PLACES = 4
"""requests of a process that are worked on at a time"""
MOST_WAITING = 100
"""requests of one that wait; they have no thread"""
LONGEST_WAIT = 60.0
ALONE = 30.0
"""seconds without a request of others after which one may take more than half of the places"""
REMEMBERED = 10_000
"""tokens, sessions and addresses whose project is known"""
FREE = re.compile(r"/(healthz|readyz|metrics|api/v1/ingest(/.*)?)")
"""paths of what watches the process, and of agents, whose batches have shares of their own"""
LINK = re.compile(r"/(?:api/v1/)?r/([^/]+)")


class Turns:
    """Who may be worked on. For one event loop."""

    def __init__(self) -> None:
        self.shares = RequestShares(PLACES, MOST_WAITING, LONGEST_WAIT, ALONE, LOAD)
        self._projects: LRUCache[str, int] = LRUCache(REMEMBERED)

    async def take(self, path: str, scope: dict[str, Any]) -> tuple[Asker, Hashable]:
        """Waits for a place; returns the asker and the key to leave with. Raises Busy."""
        who = who_asks(path, scope)
        asker = Asker(who, self._projects.get(who))
        key = asker.key
        await self.shares.take(key)
        return asker, key

    def leave(self, asker: Asker, key: Hashable) -> None:
        """The request is answered; its project may be known now."""
        if asker.project is not None:
            self._projects[asker.who] = asker.project
        self.shares.leave(key)


def is_free(path: str) -> bool:
    """Whether a request needs no place."""
    return FREE.fullmatch(path) is not None


def who_asks(path: str, scope: dict[str, Any]) -> str:
    """A digest of the request's link, token or session; its address if it has none."""
    headers = dict(scope["headers"])
    if found := LINK.match(path):
        return digest_of(found[1])
    if authorization := headers.get(b"authorization"):
        return digest_of(authorization.decode("latin-1"))
    try:
        cookies = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1"))
    except CookieError:
        cookies = SimpleCookie()
    if (session := cookies.get(settings.SESSION_COOKIE_NAME)) is not None:
        return digest_of(session.value)
    client = scope.get("client")
    return str(client[0]) if client else "unknown"
