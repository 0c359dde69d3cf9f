"""The collector process: leases targets, observes them and sends a heartbeat to Redis."""

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
import sys
import time
from collections.abc import Iterable
from typing import Any

import psycopg
import redis.asyncio as redis
from django.db import Error as DatabaseError

from observatory.base.redis_server import connect_async
from observatory.clusters.models import Target
from observatory.collect.collector.cancellation import raise_if_cancelled
from observatory.collect.collector.clusters import registry
from observatory.collect.collector.clusters.open_pages import OpenPages
from observatory.collect.collector.collector_heartbeat import HEARTBEAT, HEARTBEAT_LIFETIME
from observatory.collect.collector.counters import Counters
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.collector.leases.claims import Claims
from observatory.collect.collector.leases.lease import Availability, Leases
from observatory.collect.collector.leases.renewal import LeaseRenewal
from observatory.collect.collector.load.admission import Admission
from observatory.collect.collector.load.beginnings import first_in_turn
from observatory.collect.collector.load.pace import Pace
from observatory.collect.collector.load.process_load import ProcessLoad
from observatory.collect.collector.shared import Shared
from observatory.collect.collector.status_rows import StatusRows
from observatory.collect.collector.watcher import Watcher
from observatory.collect.collector.writing.writer_threads import WriterThreads
from observatory.collect.http.fetch import HttpClient
from observatory.collect.quarantine.folder import files
from observatory.store.ingest.known_clusters import KNOWN_CLUSTERS

logger = logging.getLogger(__name__)

TABLE_INTERVAL = 1.0
"""Seconds between two reads of the table of targets."""
IDLE_INTERVAL = 2.5
"""The same while no target shows a cluster, and this collector holds all: it has none to take over."""
ROWS_PER_SECOND = 50
"""Rows of the table that are read."""
MOST_REMEMBERED = 768 << 20
"""Bytes, by estimate, that writers remember of clusters: 10,000 workers or 1,500 clusters of 4. A collector
writes all of its clusters in turn, so that with less it would read each from the database at each batch."""
SETTINGS = ("url", "secret", "workers", "identity_interval", "metrics_interval", "series_limit")
"""Fields of a target that a running watcher follows."""
BALANCE_INTERVAL = 2.0
"""Seconds between two checks of the fair share."""
ABANDONED_INTERVAL = 10.0
"""Most seconds until clusters are ended whose targets another collector held."""
HEARTBEAT_INTERVAL = 2.0
WORKER_REQUESTS = 256
"""Most concurrent requests to workers, of all targets together."""
OPEN_FILES = 65_536
"""Limit on open files. Each worker's connection is one: the usual 1,024 are too few for 1,000 workers."""
SWITCH_INTERVAL = 0.0005
"""Seconds that a thread may run while others wait, instead of Python's 0.005: those that ask the database
wait for their turn after each answer, and the event loop hardly ever pauses when there is much to fetch."""
RESTART_WAIT = 5.0
"""Seconds before a watcher that failed is started again."""
STOP_TIMEOUT = 10.0


class Collector:
    """Observes its share of the enabled targets until `stop` is called."""

    def __init__(self) -> None:
        self.id = f"{socket.gethostname()[:60]}:{os.getpid()}:{secrets.token_hex(4)}"
        self.leases = Leases(self.id)
        self.counters = Counters()
        self.started = time.time()
        self.watchers: dict[int, tuple[Watcher, asyncio.Task[None]]] = {}
        self.failed: dict[int, float] = {}
        """By target: when its watcher failed (monotonic)."""
        self.observed: tuple[int, frozenset[int]] = (0, frozenset())
        """The number of enabled targets, and those held, when abandoned clusters were last ended."""
        self.ended_abandoned = -math.inf
        """When that was (monotonic)."""
        self.alive = 1
        """Live collectors, this one included."""
        self.stopping = asyncio.Event()

    def stop(self) -> None:
        self.stopping.set()

    async def run(self) -> None:
        server = connect_async()
        async with HttpClient() as client:
            slots = asyncio.Semaphore(WORKER_REQUESTS)
            load = ProcessLoad()
            pace = Pace(self.leases)
            self.shared = Shared(
                client,
                Claims(server),
                OpenPages(server),
                self.leases,
                self.counters,
                slots,
                load,
                WriterThreads(),
                pace,
                StatusRows(self.leases.holder, pace),
                admission := Admission(load),
                registry.MetricHelps(),
            )
            tasks = [load.run(), admission.run(), self._send_heartbeats(server)]
            beside = [asyncio.create_task(task) for task in tasks]
            renewal = LeaseRenewal(self.leases, load)
            renewal.start()
            logger.info("collector %s started", self.id)
            try:
                await self._run_loop()
            finally:
                # leases are renewed until the last records are written
                await self._stop_watchers(set(self.watchers))
                for task in beside:
                    task.cancel()
                await asyncio.wait(beside)
                await asyncio.to_thread(renewal.stop)
                await self._release(server)
        await server.aclose()

    async def _run_loop(self) -> None:
        """Takes leases and follows the table of targets until stopped."""
        balanced = -math.inf
        while not self.stopping.is_set():
            interval = TABLE_INTERVAL
            try:
                targets, held = await run_in_django_thread(self._read_table)
                share = targets.cost / self.alive
                if time.monotonic() - balanced > BALANCE_INTERVAL:
                    balanced = time.monotonic()
                    await self._end_abandoned(targets.enabled)
                    await self._give_up_excess(share)
                if targets.enabled or self.leases.held or self.watchers:
                    if targets.available:
                        await run_in_django_thread(self.leases.take, share)
                        _, held = await run_in_django_thread(self._read_table)
                    await self._follow_table(held)
                interval = self.table_interval(targets.enabled)
            except (DatabaseError, psycopg.Error) as error:
                logger.warning("the database is unavailable: %s", str(error).strip()[:200])
            try:
                async with asyncio.timeout(interval):
                    await self.stopping.wait()
            except TimeoutError:
                continue

    def table_interval(self, enabled: int) -> float:
        """Seconds until the table of targets is read again. `enabled`: the number of enabled targets."""
        if len(self.watchers) < len(self.leases.held):
            return TABLE_INTERVAL  # others wait to begin
        observes = any(watcher.observation is not None for watcher, _ in self.watchers.values())
        if not observes and enabled <= len(self.leases.held):
            return IDLE_INTERVAL
        return max(TABLE_INTERVAL, min(IDLE_INTERVAL, enabled / ROWS_PER_SECOND))

    async def _send_heartbeats(self, server: redis.Redis) -> None:
        """Sends heartbeats and counts the live collectors until cancelled."""
        while True:
            self.alive = await self._heartbeat(server)
            raise_if_cancelled()
            await asyncio.sleep(HEARTBEAT_INTERVAL)

    async def _end_abandoned(self, enabled: int) -> None:
        """Ends what is no longer observed, when targets may have been paused or deleted, or some time passed.

        `enabled`: the number of enabled targets.
        """
        observed = (enabled, frozenset(self.leases.held))
        is_due = time.monotonic() - self.ended_abandoned > ABANDONED_INTERVAL
        if is_due or observed != self.observed:
            await run_in_django_thread(registry.end_abandoned)
            self.observed, self.ended_abandoned = observed, time.monotonic()

    async def _give_up_excess(self, share: float) -> None:
        """Releases one target over the fair share of their cost, so that another collector can take it."""
        # after a takeover the heartbeat of the collector that died may still be there
        is_settled = time.monotonic() - self.leases.took_over > HEARTBEAT_LIFETIME + HEARTBEAT_INTERVAL
        if not is_settled or self.alive == 1:
            return
        released = await run_in_django_thread(self.leases.excess, share)
        if released is not None:
            await self._stop_watchers({released})
            await run_in_django_thread(self.leases.release, {released})

    def _read_table(self) -> tuple[Availability, list[Target]]:
        """How many targets there are, and those held: all that is asked while nothing changes."""
        return self.leases.available(), self._held()

    def _held(self) -> list[Target]:
        """The held targets. Of those with a watcher the settings are read, the whole row if one changed."""
        running = {pk: watcher.target for pk, (watcher, _) in list(self.watchers.items())}
        held = set(self.leases.held)
        found, others = [], held - running.keys()
        if known := held & running.keys():
            for pk, *settings in Target.objects.filter(pk__in=known).values_list("pk", *SETTINGS):
                if settings == [getattr(running[pk], name) for name in SETTINGS]:
                    found.append(running[pk])
                else:
                    others.add(pk)
        if others:
            found += Target.objects.filter(pk__in=others).select_related("discovery")
        return found

    async def _follow_table(self, held: list[Target]) -> None:
        """Starts, restarts and stops watchers to match the rows of the held targets."""
        targets = {target.pk: target for target in held if target.pk in self.leases.held}
        changed = {
            pk
            for pk, (watcher, _) in self.watchers.items()
            if pk in targets and needs_restart(watcher, targets[pk])
        }
        await self._stop_watchers(changed | (self.watchers.keys() - targets.keys()))
        for pk, (_, task) in list(self.watchers.items()):
            if task.done():
                logger.error("%s: the watcher failed", targets[pk].url, exc_info=task.exception())
                del self.watchers[pk]
                self.failed[pk] = time.monotonic()
        self._begin(target for pk, target in targets.items() if pk not in self.watchers)

    def _begin(self, others: Iterable[Target]) -> None:
        """Starts watchers of other targets, as many as may begin now."""
        now, admission = time.monotonic(), self.shared.admission
        waiting = [target for target in others if now - self.failed.get(target.pk, -math.inf) > RESTART_WAIT]
        beginning = sum(watcher.is_beginning for watcher, _ in self.watchers.values())
        for target in (first := first_in_turn(waiting, admission.most_beginning - beginning)):
            watcher = Watcher(target, self.shared)
            self.watchers[target.pk] = watcher, asyncio.create_task(watcher.run())
        admission.has_beginnings = len(first) < len(waiting)

    async def _stop_watchers(self, targets: set[int]) -> None:
        tasks = [self.watchers.pop(pk)[1] for pk in targets if pk in self.watchers]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_TIMEOUT)

    async def _heartbeat(self, server: redis.Redis) -> int:
        """Sends the heartbeat. Returns the number of live collectors, 1 when Redis is unreachable."""
        try:
            body = json.dumps(self.state())
            await server.set(f"{HEARTBEAT}{self.id}", body, ex=HEARTBEAT_LIFETIME)
            return max(1, len([key async for key in server.scan_iter(f"{HEARTBEAT}*", count=1000)]))
        except (redis.RedisError, OSError) as error:
            logger.warning("cannot send the heartbeat: %s", str(error)[:200])
            return 1

    def state(self) -> dict[str, Any]:
        """The heartbeat, which `doctor` and Observatory's own /metrics read."""
        watchers = [watcher for watcher, _ in self.watchers.values()]
        return {
            "id": self.id,
            "pid": os.getpid(),
            "started": self.started,
            "time": time.time(),
            "targets": len(watchers),
            "clusters": sum(watcher.observation is not None for watcher in watchers),
            "queue": sum(watcher.outbox.length for watcher in watchers),
            "quarantined": len(files()),
            **self.counters.as_json(),
        }

    async def _release(self, server: redis.Redis) -> None:
        """Releases the leases, so that other collectors take over at once."""
        try:
            await run_in_django_thread(self.leases.release, set(self.leases.held))
            await server.delete(f"{HEARTBEAT}{self.id}")
        except (DatabaseError, redis.RedisError, OSError) as error:
            logger.warning("cannot release the leases; they will expire: %s", str(error)[:200])
        logger.info("collector %s stopped", self.id)


def needs_restart(watcher: Watcher, target: Target) -> bool:
    """Applies changed settings to a running watcher. True when its address or its credentials changed."""
    running = watcher.target
    if (running.url, running.secret, running.workers) != (target.url, target.secret, target.workers):
        return True
    if running.identity_interval != target.identity_interval:
        watcher.polls.wanted.set()  # the last poll's counts may be an hour old: too old for the new interval
    running.identity_interval = target.identity_interval
    running.metrics_interval = target.metrics_interval
    running.series_limit = target.series_limit
    if watcher.observation is not None:
        watcher.observation.series_limit.limit = target.series_limit
    return False


def raise_open_files_limit() -> None:
    """Raises this process's limit on open files to OPEN_FILES, or as far as the system permits."""
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if most == resource.RLIM_INFINITY else min(OPEN_FILES, most)
    if allowed != resource.RLIM_INFINITY and allowed < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


async def collect() -> None:
    """Runs a collector until SIGTERM or SIGINT."""
    raise_open_files_limit()
    sys.setswitchinterval(SWITCH_INTERVAL)
    KNOWN_CLUSTERS.allow(MOST_REMEMBERED)
    collector = Collector()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, collector.stop)
    await collector.run()
