"""Whether a cluster has open pages: nothing is encoded and sent for one that nobody looks at.

It is asked after a batch is committed. A page joins the cluster's group before it reads what is stored, so it
gets each batch one way or the other.
"""

from __future__ import annotations

from functools import cache

import redis
from django.conf import settings

from observatory.base.redis_server import RedisServer, connect
from observatory.store.blocks.live_frames import channel_of


def has_open_pages(cluster: int) -> bool:
    """Whether any process has an open page of the cluster; True while Redis doesn't answer."""
    try:
        [(_, pages)] = _client(settings.REDIS).pubsub_numsub(channel_of(cluster))
    except (redis.RedisError, OSError):
        return True
    return bool(pages)


@cache
def _client(_: RedisServer) -> redis.Redis:
    return connect()
