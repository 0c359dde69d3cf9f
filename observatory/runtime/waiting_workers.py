"""Workers of Celery that wait at Redis for their next task, for up to `polling_interval`."""

from __future__ import annotations

import redis

from observatory.base import redis_server


def end_waits() -> None:
    """Make Redis answer all workers that wait: one that was asked to stop does so, the others wait again."""
    try:
        server = redis_server.connect()
        for client in server.client_list():
            if client["name"] == redis_server.WORKER and client["cmd"] == "brpop":
                server.client_unblock(int(client["id"]))
    except redis.RedisError:
        pass  # such as a server that forbids these commands: the wait ends by itself
