"""Heartbeats of the processes in Redis, for `up`, `doctor` and /metrics."""

from __future__ import annotations

import json
import os
import socket
import time
from typing import Any

import redis

from observatory.base.redis_server import connect
from observatory.collect.collector.collector_heartbeat import HEARTBEAT

READY = "observatory:ready:"
BEAT = "observatory:beat"
MAXIMUM_BEAT_AGE = 60.0
"""seconds since Celery's last heartbeat"""
QUEUES = ("celery", "alerts")
"""Celery's queues: lists in Redis"""


def collectors(client: redis.Redis) -> list[dict[str, Any]]:
    """The last heartbeat of each living collector: its state and `Counters.as_json`."""
    keys = list(client.scan_iter(f"{HEARTBEAT}*", count=1000))
    values = client.mget(keys) if keys else []
    return [json.loads(value) for value in values if value]


def collects(process: int) -> bool:
    """True if this process of this machine is a live collector; False if Redis does not answer."""
    host = socket.gethostname()[:60]
    try:
        return any(state["id"].startswith(f"{host}:{process}:") for state in collectors(connect()))
    except redis.RedisError:
        return False


def report_ready() -> None:
    """Report that this process, one of Celery's workers, is ready."""
    connect().set(f"{READY}{os.getpid()}", "1", ex=3600)


def is_ready(process: int) -> bool:
    try:
        return bool(connect().exists(f"{READY}{process}"))
    except redis.RedisError:
        return False


def write_beat(client: redis.Redis) -> None:
    client.set(BEAT, str(time.time()), ex=3600)


def beat_age(client: redis.Redis) -> float | None:
    """Seconds since Celery's last heartbeat; None: more than an hour."""
    value = client.get(BEAT)
    return None if value is None else max(0.0, time.time() - float(value))


def queue_length(client: redis.Redis) -> int:
    """The number of waiting Celery tasks."""
    return sum(int(client.llen(queue)) for queue in QUEUES)
