"""Runs that are pinned or shared outlive retention and open the same way; their neighbours don't."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.utils.timezone import now as our_now

from observatory.clusters.models import Cluster, Project
from observatory.replay.scope import Scope
from observatory.replay.state import state_at
from observatory.replay.tiles.builder import build_cluster_tiles, get_tile
from observatory.replay.tiles.layers import layers_for
from observatory.replay.tiles.levels import TileId
from observatory.runs.models import Permalink, Run
from observatory.runs.retention.retained_windows import retained_windows
from observatory.runs.sharing.link_tokens import stored
from observatory.runs.tasks import enforce_retention
from observatory.store.connection import connect
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.queries import timeline
from observatory.store.schema.time_series import time_series
from observatory.store.times import from_seconds
from observatory.wire.blocks import PREFIX
from observatory.wire.records import Event, Sample, Series
from tests.store.maintenance.test_retention import each, recorded

DAY = 86_400.0
LEVELS = (14, 16)
MEMORY = "observatory_worker_memory_bytes"


@pytest.fixture
def noon(now: float) -> float:
    """Of a day 45 days ago, which is older than any project keeps."""
    return (now // DAY - 45) * DAY + DAY / 2


def record(writer: Writer, cluster: Cluster, start: float, seconds: int, make: Any) -> None:
    """A record of every kind each second."""
    times = [start + second for second in range(seconds)]
    memory = Series(MEMORY, (("type", "process"),), make.address)
    writer.write(
        Batch.of(
            cluster.pk,
            spans=[make.span(time, key=f"inc-{time}") for time in times],
            samples=[Sample(memory, time, time % 97) for time in times],
            events=[Event(time, "restarted", "", {"message": "again"}) for time in times],
            rows=recorded(times),
            committed=times[-1] + 100,
        )
    )


def make_run(cluster: Cluster, start: float, stop: float | None, **fields: Any) -> Run:
    ends = None if stop is None else from_seconds(stop)
    return Run.objects.create(
        cluster=cluster, name="run", origin=Run.Origin.FOUND, start=from_seconds(start), stop=ends, **fields
    )


def counts(connection: psycopg.Connection, cluster: Cluster) -> dict[str, int]:
    found = {}
    for table in time_series():
        row = connection.execute(
            f"SELECT count(*) FROM {table.name} WHERE cluster_id = %s", [cluster.pk]
        ).fetchone()
        assert row is not None
        found[str(table.name)] = row[0]
    return found


def blocks(connection: psycopg.Connection, scope: Scope) -> dict[Any, bytes]:
    """Of all tiles that show something of the scope; without the first, which is the whole cluster's."""
    found: dict[Any, bytes] = {}
    for layer in layers_for(1):
        for level in LEVELS:
            for index in range(TileId.at(level, scope.start).index, TileId.at(level, scope.stop).index + 1):
                body = get_tile(connection, scope, layer, TileId(level, index)).body
                _, header, columns, _ = PREFIX.unpack_from(body)
                found[str(layer), level, index] = body[PREFIX.size + header + columns :]
    return found


def states(connection: psycopg.Connection, scope: Scope, instants: list[float]) -> list[dict[str, Any]]:
    found = []
    for at in instants:
        with timeline.snapshot(connection):
            found.append(state_at(connection, scope, round(at * 1e6)))
    return found


def test_a_pinned_run_opens_the_same_way_after_all_else_of_its_age_is_gone(
    cluster: Cluster, writer: Writer, now: float, noon: float, make: Any
) -> None:
    hour = 3_600
    record(writer, cluster, noon - hour, 120, make)
    record(writer, cluster, noon, 120, make)
    record(writer, cluster, noon + hour, 120, make)
    record(writer, cluster, now - 60, 30, make)
    pinned = make_run(cluster, noon, noon + 120, pinned=True)
    make_run(cluster, noon + hour, noon + hour + 120)
    instants = [noon, noon + 60, noon + 119]
    scope = Scope(cluster, round(noon * 1e6), round((noon + 120) * 1e6))
    with connect() as connection:
        before = blocks(connection, scope)
        assert {name for (name, *_), body in before.items() if body} >= {
            "spans",
            "events",
            "memory",
            "profile",
        }
        seen = states(connection, scope, instants) + states(connection, Scope(cluster), instants)
        for _ in range(2):
            enforce_retention()
            assert counts(connection, cluster) == each(150)
            assert blocks(connection, scope) == before
            assert states(connection, scope, instants) + states(connection, Scope(cluster), instants) == seen
            # built anew of the rows that are kept they are the same
            connection.execute("DELETE FROM tile")
            assert blocks(connection, scope) == before
        pinned.pinned = False
        pinned.save()
        enforce_retention()
        assert counts(connection, cluster) == each(30)


def test_a_shared_run_is_kept_until_its_last_link_is_revoked_or_has_expired(
    cluster: Cluster, writer: Writer, now: float, noon: float, make: Any
) -> None:
    record(writer, cluster, noon, 3, make)
    run = make_run(cluster, noon, noon + 3)
    moment = our_now()
    lasting = Permalink.objects.create(run=run, **stored("a"))
    Permalink.objects.create(run=run, revoked=moment, **stored("b"))
    Permalink.objects.create(run=run, expires=moment - timedelta(seconds=1), **stored("c"))
    [window] = retained_windows()
    assert (window.cluster, window.start.timestamp(), window.stop.timestamp()) == (
        cluster.pk,
        noon - 60,
        noon + 63,
    )
    with connect() as connection:
        enforce_retention()
        assert counts(connection, cluster) == each(3)
        lasting.expires = moment + timedelta(days=1)
        lasting.save()
        enforce_retention()
        assert counts(connection, cluster) == each(3)
        lasting.expires = moment - timedelta(days=1)
        lasting.save()
        assert retained_windows() == []
        enforce_retention()
        assert counts(connection, cluster) == each(0)


def test_a_run_that_goes_on_is_kept_up_to_now(cluster: Cluster, now: float) -> None:
    make_run(cluster, now - 50 * DAY, None, pinned=True)
    [window] = retained_windows()
    assert window.stop > our_now()


def test_the_look_at_a_whole_cluster_does_not_build_tiles_of_the_time_between(
    cluster: Cluster, writer: Writer, now: float, noon: float, make: Any
) -> None:
    record(writer, cluster, noon, 3, make)
    record(writer, cluster, now - 30 * DAY + 3_600, 30, make)
    make_run(cluster, noon, noon + 3, pinned=True)
    enforce_retention()
    with connect() as connection:
        for layer in layers_for(1)[:2]:
            build_cluster_tiles(connection, cluster, layer)
        row = connection.execute("SELECT count(*) FROM tile WHERE cluster_id = %s", [cluster.pk]).fetchone()
        assert row is not None
        assert 0 < row[0] < 600, "of 15 days there are 38,000 of the lowest level"


def test_retention_is_that_of_each_project_and_what_nobody_knows_goes(
    cluster: Cluster, writer: Writer, now: float, make: Any
) -> None:
    kept: dict[str, Cluster] = {}
    for name, days in (("short", 5), ("long", 20)):
        project = Project.objects.create(name=name, slug=name, retention_days=days)
        kept[name] = Cluster.objects.create(
            project=project,
            scheduler_id=name,
            name=name,
            started=from_seconds(now),
            last_seen=from_seconds(now),
        )
        for ago in (30, 10, 1):
            record(writer, kept[name], now - ago * DAY, 1, make)
    record(writer, unknown := Cluster(pk=cluster.pk + 500_000), now, 1, make)
    enforce_retention()
    with connect() as connection:
        assert counts(connection, kept["short"]) == each(1)
        assert counts(connection, kept["long"]) == each(2)
        assert counts(connection, unknown) == each(0)
    for known in kept.values():
        delete_cluster(known.pk)
