"""Connections to the Redis that the Sentinels of the settings name the master."""

from __future__ import annotations

from typing import Any, Self

from django.conf import settings
from redis.sentinel import Sentinel, SentinelConnectionPool


class MasterPool(SentinelConnectionPool):
    """Asks the Sentinels at each new connection; Django's cache makes its pools by `from_url`."""

    @classmethod
    def from_url(cls, url: str, **options: Any) -> Self:
        """`url` is that of the settings, whose Sentinels are asked."""
        server = settings.REDIS
        sentinels = Sentinel(  # type: ignore[no-untyped-call]
            list(server.sentinels), sentinel_kwargs=server.sentinel_options()
        )
        return cls(server.service, sentinels, **{**server.connection_options(), **options})
