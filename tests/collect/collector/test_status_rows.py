"""What collectors tell of many targets is written by few statements, each row with its own values."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import DatabaseError

from observatory.clusters.models import Cluster, Target
from observatory.collect.collector import status_rows
from observatory.collect.collector.database import run_in_django_thread
from observatory.collect.collector.leases.lease import Leases
from observatory.collect.collector.load.pace import Pace
from observatory.collect.collector.status_rows import StatusRows
from observatory.store.target_rows import TargetRow, update_targets
from tests.collect.observer import make_target

pytestmark = pytest.mark.usefixtures("store")

SEEN = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)


def status(target: int, cluster: int | None = None, **fields: Any) -> TargetRow:
    known = TargetRow(
        target=target,
        last_error="",
        stream="received",
        clock_offset=0.25,
        last_seen=SEEN,
        series_count=7,
        series_refused=1,
        cost=1.5,
        cluster=cluster,
        cluster_seen=SEEN,
        identity_interval=2.5,
        metrics_interval=10.0,
    )
    return replace(known, **fields)


def made(count: int) -> tuple[Leases, list[Target], list[Cluster]]:
    targets = [make_target(f"http://10.0.0.1:{number + 1}") for number in range(count)]
    clusters = [
        Cluster.objects.create(
            project=target.project, target=target, scheduler_id=target.url, started=SEEN, last_seen=SEEN
        )
        for target in targets
    ]
    leases = Leases("a collector")
    leases.take(count)
    return leases, targets, clusters


async def test_targets_that_are_told_of_at_the_same_time_share_a_statement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leases, targets, clusters = await run_in_django_thread(made, 30)
    statements: list[int] = []

    def counted(holder: str, told: list[TargetRow]) -> None:
        statements.append(len(told))
        update_targets(holder, told)

    monkeypatch.setattr(status_rows, "update_targets", counted)
    rows = StatusRows(leases.holder, Pace(leases))
    told = [
        status(target.pk, cluster.pk, last_error=f"error {target.pk}", clock_offset=float(cluster.pk))
        for target, cluster in zip(targets, clusters, strict=True)
    ]
    await asyncio.gather(*map(rows.update, told))
    assert len(statements) <= 2
    assert sum(statements) == 30
    found = await run_in_django_thread(lambda: list(Target.objects.order_by("pk")))
    assert [(each.last_error, each.clock_offset) for each in found] == [
        (each.last_error, each.clock_offset) for each in told
    ]
    stored = await run_in_django_thread(lambda: list(Cluster.objects.order_by("pk")))
    assert {(each.last_seen, each.identity_interval, each.metrics_interval) for each in stored} == {
        (SEEN, 2.5, 10.0)
    }


def test_what_is_not_known_leaves_what_the_row_says() -> None:
    leases, [target], [cluster] = made(1)
    update_targets(leases.holder, [status(target.pk, cluster.pk)])
    later = status(target.pk, last_error="it is gone", last_seen=None, series_count=None, series_refused=None)
    update_targets(leases.holder, [replace(later, identity_interval=99.0)])
    target.refresh_from_db()
    cluster.refresh_from_db()
    assert (target.last_error, target.last_seen, target.series_count) == ("it is gone", SEEN, 7)
    assert cluster.identity_interval == 2.5


def test_a_collector_tells_nothing_of_a_target_whose_lease_another_one_holds() -> None:
    _, [target, other], [cluster, _] = made(2)
    Target.objects.filter(pk=target.pk).update(lease_holder="another collector")
    update_targets("a collector", [status(target.pk, cluster.pk), status(other.pk)])
    target.refresh_from_db()
    cluster.refresh_from_db()
    other.refresh_from_db()
    assert (target.series_count, cluster.identity_interval, other.series_count) == (0, 1.0, 7)


async def test_an_update_that_fails_fails_for_all_that_share_it_and_the_next_one_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leases, targets, _ = await run_in_django_thread(made, 30)

    def refused(*_: Any) -> None:
        raise DatabaseError("away")

    rows = StatusRows(leases.holder, Pace(leases))
    with monkeypatch.context() as away:
        away.setattr(status_rows, "update_targets", refused)
        results = await asyncio.gather(
            *(rows.update(status(target.pk)) for target in targets), return_exceptions=True
        )
        assert all(isinstance(result, DatabaseError) for result in results)
    await rows.update(status(targets[0].pk))
    assert await run_in_django_thread(Target.objects.filter(series_count=7).count) == 1


async def test_an_update_that_is_cancelled_leaves_that_of_the_others() -> None:
    leases, targets, _ = await run_in_django_thread(made, 30)
    rows = StatusRows(leases.holder, Pace(leases))
    first, *others = (asyncio.create_task(rows.update(status(target.pk))) for target in targets)
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(*others)
    assert await run_in_django_thread(Target.objects.filter(series_count=7).count) == 30
