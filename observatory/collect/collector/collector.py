"""The collector process: takes targets by lease, observes them, and says every few seconds that it lives."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import resource
import secrets
import signal
import socket
import time
from typing import Any

import redis.asyncio as redis
from django.conf import settings
from django.db import Error as DatabaseError

from observatory.clusters.models import Target
from observatory.collect.collector import registry
from observatory.collect.collector.claims import Claims
from observatory.collect.collector.counters import Counters
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.collector.heartbeat import HEARTBEAT, HEARTBEAT_LIFETIME
from observatory.collect.collector.lease import RENEWAL, Leases, enabled_targets
from observatory.collect.collector.watcher import Shared, Watcher
from observatory.collect.http.fetch import HttpClient

logger = logging.getLogger(__name__)

TABLE_INTERVAL = 1.0
"""seconds between two looks at the table of targets"""
WORKER_REQUESTS = 256
"""requests to workers that run at the same time, of all targets together"""
OPEN_FILES = 65_536
"""a kept connection to each worker is one; the 1,024 of most systems are too few for a thousand workers"""
RESTART_WAIT = 5.0
STOPPING = 10.0


class Collector:
    """Runs until `stop` is called."""

    def __init__(self) -> None:
        self.id = f"{socket.gethostname()[:60]}:{os.getpid()}:{secrets.token_hex(4)}"
        self.leases = Leases(self.id)
        self.counters = Counters()
        self.started = time.time()
        self.watchers: dict[int, tuple[Watcher, asyncio.Task[None]]] = {}
        self.failed: dict[int, float] = {}
        """when the watcher of a target broke, monotonic"""
        self.stopping = asyncio.Event()

    def stop(self) -> None:
        self.stopping.set()

    async def run(self) -> None:
        server = redis.from_url(settings.REDIS_URL, socket_timeout=3, socket_connect_timeout=3)
        async with HttpClient() as client:
            slots = asyncio.Semaphore(WORKER_REQUESTS)
            self.shared = Shared(client, Claims(server), self.leases, self.counters, slots)
            logger.info("collector %s started", self.id)
            try:
                await self._look_after(server)
            finally:
                await self._finish(server)
        await server.aclose()

    async def _look_after(self, server: redis.Redis) -> None:
        """Renews leases, follows the table of targets and sends heartbeats, until it is stopped."""
        renewed = 0.0
        alive = 1
        while not self.stopping.is_set():
            is_due = time.monotonic() - renewed > RENEWAL
            if is_due:
                renewed = time.monotonic()
                alive = await self._heartbeat(server)
            try:
                if is_due:
                    await self._stop_watchers(await run_in_django_thread(self.leases.renew))
                    await run_in_django_thread(registry.end_abandoned)
                    await self._share(alive)
                await run_in_django_thread(self.leases.take, await self._fair_share(alive))
                await self._follow_table()
            except DatabaseError as error:
                logger.warning("the database is away: %s", str(error).strip()[:200])
            try:
                async with asyncio.timeout(TABLE_INTERVAL):
                    await self.stopping.wait()
            except TimeoutError:
                continue

    async def _fair_share(self, collectors: int) -> int:
        return math.ceil(await run_in_django_thread(enabled_targets) / max(1, collectors))

    async def _share(self, collectors: int) -> None:
        """Gives up what is over the fair share, one target at a time, so that a new collector gets some."""
        if collectors > 1 and len(self.leases.held) > await self._fair_share(collectors):
            given_up = max(self.leases.held)
            await self._stop_watchers({given_up})
            await run_in_django_thread(self.leases.release, {given_up})

    async def _follow_table(self) -> None:
        """Starts, restarts and stops watchers as the table says."""
        rows = await run_in_django_thread(lambda: list(Target.objects.filter(pk__in=self.leases.held)))
        targets = {target.pk: target for target in rows}
        changed = {
            pk
            for pk, (watcher, _) in self.watchers.items()
            if pk in targets and needs_restart(watcher, targets[pk])
        }
        await self._stop_watchers(changed | (self.watchers.keys() - targets.keys()))
        for pk, (_, task) in list(self.watchers.items()):
            if task.done():
                logger.error("%s: its watcher broke", targets[pk].url, exc_info=task.exception())
                del self.watchers[pk]
                self.failed[pk] = time.monotonic()
        for pk, target in targets.items():
            if pk not in self.watchers and time.monotonic() - self.failed.get(pk, -math.inf) > RESTART_WAIT:
                watcher = Watcher(target, self.shared)
                self.watchers[pk] = watcher, asyncio.create_task(watcher.run())

    async def _stop_watchers(self, targets: set[int]) -> None:
        tasks = [self.watchers.pop(pk)[1] for pk in targets if pk in self.watchers]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=STOPPING)

    async def _heartbeat(self, server: redis.Redis) -> int:
        """Says that this collector lives; returns how many do, or 1 when Redis is away."""
        try:
            body = json.dumps(self.state())
            await server.set(f"{HEARTBEAT}{self.id}", body, ex=HEARTBEAT_LIFETIME)
            return max(1, len([key async for key in server.scan_iter(f"{HEARTBEAT}*", count=1000)]))
        except (redis.RedisError, OSError) as error:
            logger.warning("the heartbeat can't be sent: %s", str(error)[:200])
            return 1

    def state(self) -> dict[str, Any]:
        """What `doctor` and our own /metrics read."""
        watchers = [watcher for watcher, _ in self.watchers.values()]
        return {
            "id": self.id,
            "pid": os.getpid(),
            "started": self.started,
            "time": time.time(),
            "targets": len(watchers),
            "clusters": sum(watcher.observation is not None for watcher in watchers),
            "queue": sum(watcher.outbox.length for watcher in watchers),
            **self.counters.as_json(),
        }

    async def _finish(self, server: redis.Redis) -> None:
        """Stores what is left and gives the leases up."""
        await self._stop_watchers(set(self.watchers))
        try:
            await run_in_django_thread(self.leases.release, set(self.leases.held))
            await server.delete(f"{HEARTBEAT}{self.id}")
        except (DatabaseError, redis.RedisError, OSError) as error:
            logger.warning("the leases end by themselves: %s", str(error)[:200])
        logger.info("collector %s stopped", self.id)


def needs_restart(watcher: Watcher, target: Target) -> bool:
    """Takes over what can be changed on the way; True when the address changed."""
    running = watcher.target
    if running.url != target.url:
        return True
    running.identity_interval = target.identity_interval
    running.metrics_interval = target.metrics_interval
    running.series_limit = target.series_limit
    if watcher.observation is not None:
        watcher.observation.series_limit.limit = target.series_limit
    return False


def raise_open_files_limit() -> None:
    """Lets this process open OPEN_FILES, or as many as the system lets it allow itself."""
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if most == resource.RLIM_INFINITY else min(OPEN_FILES, most)
    if allowed != resource.RLIM_INFINITY and allowed < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


async def collect() -> None:
    """Runs a collector until SIGTERM or SIGINT."""
    raise_open_files_limit()
    collector = Collector()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, collector.stop)
    await collector.run()
