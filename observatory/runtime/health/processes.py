"""Checks of the process of this machine or container, for `alive`.

A check fails only where a restart of the process helps: not while Redis is away.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass

import redis
from celery.exceptions import OperationalError as BrokerError

from observatory.base import redis_server
from observatory.runtime.health import process_heartbeats as beats
from observatory.runtime.health.celery_ping import ping

PING_TIMEOUT = 5.0
"""seconds"""


@dataclass(frozen=True, slots=True)
class Life:
    """Whether a process is alive, and why that is known."""

    is_alive: bool
    text: str


def collector() -> Life:
    """The collector of this host: its heartbeat is in Redis."""
    start = f"{socket.gethostname()[:60]}:"
    ours = [state for state in beats.collectors(redis_server.connect()) if state["id"].startswith(start)]
    return Life(True, "heartbeat") if ours else Life(False, f"no heartbeat of {start[:-1]}")


def worker(name: str) -> Life:
    """Celery's worker `name`@HOST: it answers."""
    node = f"{name}@{socket.gethostname()}"
    if ping(PING_TIMEOUT, [node]):
        return Life(True, f"{node} answers")
    return Life(False, f"{node} does not answer")


def beat() -> Life:
    """Celery's beat, wherever it runs: a worker would execute its heartbeat."""
    age = beats.beat_age(redis_server.connect())
    if age is not None and age <= beats.MAXIMUM_BEAT_AGE:
        return Life(True, f"heartbeat {age:.0f} s ago")
    if ping(PING_TIMEOUT):
        return Life(False, "no heartbeat, and a worker answers")
    return Life(True, "unknown: no worker answers")


CHECKS: dict[str, Callable[[], Life]] = {
    "alerts": lambda: worker("alerts"),
    "beat": beat,
    "collector": collector,
    "worker": lambda: worker("celery"),
}


def check(process: str) -> Life:
    try:
        redis_server.connect().ping()
        return CHECKS[process]()
    except (redis.RedisError, BrokerError, OSError) as error:
        return Life(True, f"unknown: Redis does not answer ({error})")
