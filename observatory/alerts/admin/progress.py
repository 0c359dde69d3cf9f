"""How far a long back-test is, which its page asks another process for."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

import redis
from django.core.cache import cache

INTERVAL = 0.5
"""seconds between two notes"""
KNOWN_FOR = 60
"""seconds after the last one"""
NAME = re.compile(r"[0-9a-f-]{32,36}")
"""that the page makes up"""


def noting(user: int, name: str) -> Callable[[float], None]:
    """Notes the share of a back-test that is done, under the name that its page gave it."""
    if not NAME.fullmatch(name):
        return lambda share: None
    noted = monotonic()

    def note(share: float) -> None:
        nonlocal noted
        if (now := monotonic()) > noted + INTERVAL:
            noted = now
            with suppress(redis.RedisError):
                cache.set(_key(user, name), share, KNOWN_FOR)

    return note


def share_done(user: int, name: str) -> float | None:
    """Of a back-test of the same person; None: it is not known."""
    if not NAME.fullmatch(name):
        return None
    with suppress(redis.RedisError):
        share: float | None = cache.get(_key(user, name))
        return share
    return None


def _key(user: int, name: str) -> str:
    return f"back-test-{user}-{name}"
