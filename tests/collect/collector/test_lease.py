"""Collectors share targets by leases, and take over the targets of a collector that died."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from observatory.base.redis_server import connect
from observatory.clusters.models import Cluster, Target
from observatory.collect.collector.collector import HEARTBEAT_INTERVAL, TABLE_INTERVAL
from observatory.collect.collector.collector_heartbeat import HEARTBEAT, HEARTBEAT_LIFETIME
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.collector.leases.lease import DURATION, RENEWAL, Leases
from observatory.collect.collector.leases.renewal import LONGEST_PAUSE, LeaseRenewal
from observatory.collect.collector.load.process_load import ProcessLoad
from observatory.store.connection import parameters
from tests.collect.dask_processes import Scheduler, scheduler
from tests.collect.observer import eventually, make_target, read

pytestmark = pytest.mark.usefixtures("store")


@pytest.fixture(autouse=True)
def _no_heartbeats() -> None:
    server = connect()
    for key in server.scan_iter(f"{HEARTBEAT}*"):
        server.delete(key)


@contextmanager
def collector() -> Iterator[subprocess.Popen[bytes]]:
    """A collector process on the test's database."""
    database = parameters()
    login = ":".join(quote(database[name], safe="") for name in ("user", "password") if name in database)
    rest = urlencode({name: database[name] for name in ("host", "port") if name in database})
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "observatory.config.settings",
        "DATABASE_URL": f"postgresql://{login}@/{database['dbname']}?{rest}",
        "REDIS_URL": settings.REDIS.url,
    }
    process = subprocess.Popen([sys.executable, "-m", "django", "collect"], env=environment)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def holder() -> str:
    target = Target.objects.filter(lease_expires__gt=Now()).first()
    return target.lease_holder if target else ""


def test_a_lease_has_one_holder_until_it_is_released() -> None:
    target = make_target("http://127.0.0.1:1")
    first, second = Leases("first"), Leases("second")
    assert first.take(10) == {target.pk}
    assert second.take(10) == set()
    assert first.is_valid(target.pk)
    assert not second.is_valid(target.pk)
    first.release({target.pk})
    assert not first.is_valid(target.pk)
    assert second.take(10) == {target.pk}
    assert first.renew() == set()


def test_leases_are_renewed_while_the_event_loop_has_too_much_to_do() -> None:
    target, leases, load = make_target("http://127.0.0.1:9"), Leases("busy"), ProcessLoad()
    assert leases.take(1) == {target.pk}
    renewal = LeaseRenewal(leases, load)
    renewal.start()
    try:
        times: set[float] = set()
        deadline = time.monotonic() + 120
        while len(times) < 3 and time.monotonic() < deadline:
            times.add(leases.renewed)  # and nothing awaits
            load.looked = time.monotonic()
        assert len(times) == 3
        load.looked -= LONGEST_PAUSE
        time.sleep(RENEWAL)  # one may be under way
        stopped = leases.renewed
        time.sleep(2 * RENEWAL)
        assert leases.renewed == stopped, "others may take over from one that stands still"
    finally:
        renewal.stop()


def test_a_collector_that_lost_its_lease_learns_it_at_the_next_renewal_and_may_not_write() -> None:
    target = make_target("http://127.0.0.1:1")
    first, second = Leases("first"), Leases("second")
    first.take(10)
    Target.objects.update(lease_expires=Now())
    time.sleep(0.05)
    assert second.take(10) == {target.pk}
    assert first.renew() == {target.pk}
    assert not first.is_valid(target.pk)
    assert Target.objects.get().lease_holder == "second"


def test_a_collector_that_cannot_renew_stops_writing_before_another_may_start() -> None:
    target = make_target("http://127.0.0.1:1")
    leases = Leases("first")
    leases.take(10)
    leases.renewed -= DURATION / 2
    assert leases.is_valid(target.pk)
    leases.renewed -= DURATION / 2
    assert not leases.is_valid(target.pk)


def test_a_disabled_target_is_given_up() -> None:
    target = make_target("http://127.0.0.1:1")
    leases = Leases("first")
    leases.take(10)
    Target.objects.update(enabled=False)
    assert leases.renew() == {target.pk}
    assert Leases("second").take(10) == set()


def test_a_lease_that_is_taken_while_others_are_renewed_is_kept() -> None:
    first, second = make_target("http://127.0.0.1:1"), make_target("http://127.0.0.1:2")
    leases = Leases("first")
    assert leases.take(1) == {first.pk}

    def take(execute: Any, *statement: Any) -> Any:
        if first.pk in leases.held and second.pk not in leases.held:
            leases.held.add(second.pk)
            Target.objects.filter(pk=second.pk).update(lease_holder="first")
        return execute(*statement)

    with connection.execute_wrapper(take):
        assert leases.renew() == set()
    assert leases.held == {first.pk, second.pk}


def test_expired_leases_are_taken_at_once_and_free_targets_up_to_the_fair_share() -> None:
    """The heartbeat of a collector that died counts for some more seconds, and makes the share too small."""
    targets = [make_target(f"http://127.0.0.1:{port}") for port in (1, 2, 3, 4)]
    dead, alive = Leases("dead"), Leases("alive")
    assert len(dead.take(2)) == 2
    assert len(alive.take(1)) == 1
    assert alive.take(1) == set()
    Target.objects.filter(lease_holder="dead").update(lease_expires=Now() - timedelta(seconds=1))
    assert alive.take(1) == dead.held
    assert len(alive.take(4)) == 1
    assert alive.held == {target.pk for target in targets}


def test_the_intervals_of_a_takeover_add_up_to_what_the_documentation_promises() -> None:
    promised = re.search(r"from one that dies within (\d+) s", Path("docs/deploying.md").read_text())
    assert promised is not None
    start = 2 * Target().identity_interval
    assert DURATION + TABLE_INTERVAL + start < int(promised[1])
    assert 3 * RENEWAL < DURATION, "two renewals in a row may fail"
    assert 3 * HEARTBEAT_INTERVAL < HEARTBEAT_LIFETIME <= DURATION


async def test_another_collector_takes_over_from_one_that_is_killed() -> None:
    def work(dask: Scheduler) -> None:
        with dask.client() as client:
            client.gather(client.map(lambda x: x, range(20), pure=False))

    with scheduler(workers=1) as dask:
        await run_in_django_thread(make_target, dask.url)
        with collector() as first:
            victim = await eventually(lambda: run_in_django_thread(holder))
            await eventually(lambda: run_in_django_thread(Target.objects.filter(stream="receiving").exists))
            with collector() as second:
                await eventually(lambda: asyncio.sleep(0, heartbeats() == 2))
                assert await run_in_django_thread(holder) == victim
                victim_pid = int(victim.split(":")[1])
                survivor = second if victim_pid == first.pid else first
                os.kill(victim_pid, signal.SIGKILL)
                await eventually(lambda: taken_over(victim))
                await eventually(lambda: samples_since(time.time()))
                await asyncio.to_thread(work, dask)
                await eventually(lambda: read("SELECT 1 FROM span WHERE action = 0 HAVING count(*) >= 20"))
                assert await run_in_django_thread(Cluster.objects.count) == 1
                survivor.terminate()
                assert await asyncio.to_thread(survivor.wait, 15) == 0
                assert await run_in_django_thread(Target.objects.filter(lease_holder="").exists)


async def taken_over(victim: str) -> bool:
    now = await run_in_django_thread(holder)
    return bool(now) and now != victim


async def samples_since(moment: float) -> bool:
    return bool(await read("SELECT 1 FROM sample WHERE time > to_timestamp(%s) LIMIT 1", moment - 1))


def heartbeats() -> int:
    server = connect()
    found = [json.loads(server.get(key) or b"{}") for key in server.scan_iter(f"{HEARTBEAT}*")]
    assert all({"targets", "queue", "lag", "rows"} <= state.keys() for state in found if state)
    return len(found)


async def test_collectors_share_targets() -> None:
    with scheduler() as one, scheduler() as other:
        await run_in_django_thread(make_target, one.url)
        await run_in_django_thread(make_target, other.url)
        with collector(), collector():
            await eventually(lambda: run_in_django_thread(holders_are, 2))


def holders_are(count: int) -> bool:
    held = Target.objects.filter(lease_expires__gt=Now())
    return held.count() == 2 and held.values("lease_holder").distinct().count() == count
