"""Whether a cluster has open pages: nothing is encoded and sent for one that nobody looks at.

It is asked after a batch is committed. A page joins the cluster's group before it reads what is stored, so it
gets each batch one way or the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import redis
from django.conf import settings

from observatory.base.redis_server import RedisServer, connect
from observatory.store.blocks.live_frames import channel_of


def has_open_pages(cluster: int) -> bool:
    """Whether any process has an open page of the cluster; True while Redis doesn't answer."""
    return bool(with_open_pages([cluster]))


def with_open_pages(clusters: Sequence[int]) -> set[int]:
    """Those of the clusters of which any process has an open page; all while Redis doesn't answer."""
    if not clusters:
        return set()
    try:
        found = _client(settings.REDIS).pubsub_numsub(*map(channel_of, clusters))
    except (redis.RedisError, OSError):
        return set(clusters)
    return {cluster for cluster, (_, pages) in zip(clusters, found, strict=True) if pages}


@cache
def _client(_: RedisServer) -> redis.Redis:
    return connect()
