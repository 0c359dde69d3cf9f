"""Signs of life of the processes, kept in Redis for a while: for `up`, `doctor` and our own /metrics."""

from __future__ import annotations

import json
import os
import socket
import time
from typing import Any

import redis
from django.conf import settings

from observatory.collect.collector.heartbeat import HEARTBEAT

READY = "observatory:ready:"
BEAT = "observatory:beat"
BEAT_TASK_INTERVAL = 10.0
"""seconds between two beats, which say that Celery's beat schedules and a worker works"""
QUEUES = ("celery", "alerts")
"""Celery's: lists in Redis"""


def connect() -> redis.Redis:
    """A client for settings.REDIS_URL with short time-outs."""
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=3, socket_connect_timeout=3)


def collectors(client: redis.Redis) -> list[dict[str, Any]]:
    """What each living collector last said of itself (collect.figures.Figures.as_json and more)."""
    keys = list(client.scan_iter(f"{HEARTBEAT}*", count=1000))
    values = client.mget(keys) if keys else []
    return [json.loads(value) for value in values if value]


def collects(process: int) -> bool:
    """True when the collector that is this process of this machine lives; False without Redis' answer."""
    host = socket.gethostname()[:60]
    try:
        return any(state["id"].startswith(f"{host}:{process}:") for state in collectors(connect()))
    except redis.RedisError:
        return False


def say_ready(name: str) -> None:
    """Says that this process is ready to do what `name` does."""
    connect().set(f"{READY}{name}:{os.getpid()}", "1", ex=3600)


def is_ready(name: str, process: int) -> bool:
    try:
        return bool(connect().exists(f"{READY}{name}:{process}"))
    except redis.RedisError:
        return False


def write_beat(client: redis.Redis) -> None:
    client.set(BEAT, str(time.time()), ex=3600)


def beat_age(client: redis.Redis) -> float | None:
    """Seconds since Celery last did the task that its beat schedules; None: not within an hour."""
    value = client.get(BEAT)
    return None if value is None else max(0.0, time.time() - float(value))


def queue_length(client: redis.Redis) -> int:
    """Celery tasks that wait."""
    return sum(int(client.llen(queue)) for queue in QUEUES)
