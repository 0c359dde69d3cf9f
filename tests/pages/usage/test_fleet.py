"""The list of live clusters: how each does now, what needs attention first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from observatory.clusters.live import fleet
from observatory.clusters.models import Cluster, Target
from observatory.store.connection import connect
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.wire.records import MetricType, Sample, Series
from tests.support.projects import HOSTILE, World, make_cluster, store_extent
from tests.support.stored_alerts import make_alert

GIB = 2**30
START = 1_780_000_000.0
GAUGES = {
    ("observatory_cluster_workers", "state", "total"): 4.0,
    ("observatory_cluster_workers", "state", "idle"): 1.0,
    ("observatory_cluster_threads", "", ""): 16.0,
    ("observatory_cluster_busy_threads", "", ""): 12.0,
    ("observatory_cluster_memory_bytes", "type", "process"): 6.0 * GIB,
    ("observatory_cluster_memory_bytes", "type", "managed"): 1.0 * GIB,
    ("observatory_cluster_memory_limit_bytes", "", ""): 8.0 * GIB,
    ("observatory_cluster_tasks", "state", "processing"): 321.0,
    ("observatory_cluster_tasks", "state", "memory"): 7.0,
}


@pytest.fixture(autouse=True)
def _read_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "LIFETIME", 0.0)


@pytest.fixture
def sampled(transactional_db: None, world: World) -> Iterator[Cluster]:
    """The world's live cluster with samples of a minute; it computes five tasks per second."""
    receive()
    samples = [
        Sample(Series(metric, ((name, value),) if name else ()), START + second, number)
        for second in (0, 30, 60)
        for (metric, name, value), number in GAUGES.items()
    ]
    computed = Series("observatory_cluster_tasks_computed_total", (), "", MetricType.COUNTER)
    samples += [Sample(computed, START + second, 1_000 + 5 * second) for second in (0, 30, 60)]
    with Writer() as writer:
        writer.write(Batch.of(world.live.pk, samples=samples))
    yield world.live
    delete_cluster(world.live.pk)


def receive(**changes: Any) -> None:
    """Targets are observed without a problem, but for `changes`."""
    known = {"stream": Target.Stream.RECEIVING, "lease_expires": timezone.now() + timedelta(minutes=1)}
    Target.objects.update(**{**known, **changes})


def rows(world: World, query: str = "", role: str = "viewer") -> list[tuple[str, str]]:
    """Name and HTML of each row, in their order."""
    answer = world.client(role).get(f"/clusters/?state=live{query}")
    assert answer.status_code == 200
    found = re.findall(r"<tr data-cluster.*?</tr>", answer.content.decode(), re.DOTALL)
    return [(re.findall(r'href="/clusters/\d+/">([^<]*)</a>', row)[0], row) for row in found]


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def test_a_live_cluster_shows_its_newest_figures(world: World, sampled: Cluster) -> None:
    [(name, row)] = rows(world)
    assert name == "morning"
    shown = text_of(row)
    for figure in ("12 of 16", " 4 ", "6.00 GiB of 8.00 GiB", " 321 ", " 5 "):
        assert figure in shown
    assert f'href="/clusters/{sampled.pk}/?tab=memory"' in row
    page = text_of(world.client("viewer").get("/clusters/?state=live").content.decode())
    assert "1 live cluster · 12 of 16 threads busy · 6.00 GiB of 8.00 GiB of memory" in page


def test_an_agent_that_was_just_missed_is_told_before_it_is_silent(world: World) -> None:
    receive()
    Cluster.objects.update(agent_heard=timezone.now() - timedelta(hours=5))
    [(_, row)] = rows(world)
    assert "not heard Its agent was last heard 5 h ago." in text_of(row)


def test_a_figure_that_is_older_than_a_minute_is_not_shown(world: World, sampled: Cluster) -> None:
    newer = Sample(Series("observatory_cluster_threads"), START + 200, 8)
    with Writer() as writer:
        writer.write(Batch.of(sampled.pk, samples=[newer]))
    [(_, row)] = rows(world)
    assert "– of 8" in text_of(row)
    assert "GiB" not in row


def test_what_needs_attention_comes_first_with_its_reason(world: World) -> None:
    now = timezone.now()
    receive()
    names = ("fine", "alerted", "silent", "behind", "worse")
    made = {name: make_cluster(world.alpha, 10 + number, name=name) for number, name in enumerate(names)}
    Cluster.objects.filter(name="silent").update(agent_heard=now - timedelta(minutes=5), agent_silent=now)
    Cluster.objects.filter(name="behind").update(collector_behind=now - timedelta(minutes=2))
    make_alert(made["alerted"], "low disk", severity="info")
    make_alert(made["worse"], "worker lost", severity="critical")
    make_alert(made["worse"], "spilling", at=80)
    make_alert(made["fine"], "over", resolved=90)
    found = rows(world)
    assert [name for name, _ in found] == ["worse", "silent", "behind", "alerted", "fine", "morning"]
    shown = {name: text_of(row) for name, row in found}
    assert "worker lost" in shown["worse"]
    assert "spilling" in shown["worse"]
    assert "agent silent Its agent was last heard 5 min ago." in shown["silent"]
    assert "collector behind" in shown["behind"]
    assert "over" not in shown["fine"]
    page = text_of(world.client("viewer").get("/clusters/?state=live").content.decode())
    assert "6 live clusters, 4 need attention, 3 alerts firing" in page


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"last_error": "nobody listens there"}, "unreachable nobody listens there (last heard "),
        ({"stream": Target.Stream.STOLEN}, "event stream taken"),
        ({"enabled": False}, "paused"),
        ({"lease_expires": None}, "no collector"),
    ],
)
def test_a_cluster_without_an_agent_has_the_state_of_its_target(
    world: World, changes: dict[str, Any], word: str
) -> None:
    receive(**changes)
    [(_, row)] = rows(world)
    assert word in text_of(row)


def test_records_that_an_agent_dropped_are_said(world: World, sampled: Cluster) -> None:
    with connect() as store:
        store.execute(
            """INSERT INTO agent (id, cluster_id, sequence, since, last, heard, is_joint, dropped)
               VALUES (gen_random_uuid(), %s, 1, now(), now(), now(), false, 1234)""",
            [sampled.pk],
        )
    [(_, row)] = rows(world)
    assert "records dropped Its agent dropped 1,234 records" in text_of(row)


def test_live_clusters_are_sorted_by_any_column_and_filtered_by_name_and_project(
    world: World, sampled: Cluster
) -> None:
    busy = make_cluster(world.alpha, 11, name="almost")
    make_alert(busy)
    store_extent(busy, errors=3)
    beta = make_cluster(world.beta, 12, name="other")
    try:
        assert [name for name, _ in rows(world)] == ["almost", "morning"]
        assert [name for name, _ in rows(world, "&order=-busy")] == ["morning", "almost"]
        assert [name for name, _ in rows(world, "&order=-errors")] == ["almost", "morning"]
        assert [name for name, _ in rows(world, "&order=-name")] == ["morning", "almost"]
        assert [name for name, _ in rows(world, "&order=nonsense")] == ["almost", "morning"]
        assert [name for name, _ in rows(world, "&search=morn")] == ["morning"]
        assert [name for name, _ in rows(world, "&project=beta", "superuser")] == ["other"]
        assert [name for name, _ in rows(world, "", "outsider")] == ["other"]
    finally:
        delete_cluster(busy.pk)
        delete_cluster(beta.pk)


def test_a_hostile_name_is_shown_as_text(world: World) -> None:
    make_cluster(world.alpha, 13, name=HOSTILE)
    page = world.client("viewer").get("/clusters/?state=live").content.decode()
    assert HOSTILE not in page
    assert "&lt;img src=x" in page


def test_without_a_live_cluster_the_page_leads_to_the_last_one(world: World) -> None:
    Cluster.objects.filter(pk=world.live.pk).delete()
    shown = world.client("viewer").get("/clusters/?state=live").content.decode()
    assert "No cluster is live" in shown
    assert f'href="/clusters/{world.ended.pk}/">evening</a>' in shown


def test_the_csv_has_the_figures(world: World, sampled: Cluster) -> None:
    header, row = world.client("viewer").get("/clusters/?state=live&format=csv").content.decode().splitlines()
    cells = dict(zip(header.split(","), row.split(","), strict=True))
    assert cells["name"] == "morning"
    assert float(cells["busy threads"]) == 12
    assert float(cells["tasks per second"]) == 5


def test_many_live_clusters_take_no_more_queries_than_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []
    execute = psycopg.Connection.execute

    def counted(self: Any, query: Any, *arguments: Any, **options: Any) -> Any:
        statements.append(str(query))
        return execute(self, query, *arguments, **options)

    monkeypatch.setattr(psycopg.Connection, "execute", counted)
    client = world.client("viewer")

    def queries() -> int:
        statements.clear()
        with CaptureQueriesContext(connection) as asked:
            assert client.get("/clusters/?state=live").status_code == 200
        return len(asked) + sum("wanted" in each or "FROM agent" in each for each in statements)

    client.get("/clusters/?state=live")
    few = queries()
    Cluster.objects.bulk_create(
        Cluster(
            project=world.alpha,
            target=world.target,
            scheduler_id=f"Scheduler-many-{number}",
            name=f"many {number}",
            started=world.live.started,
            last_seen=world.live.last_seen,
        )
        for number in range(120)
    )
    assert queries() == few < 25


def test_the_figures_are_read_once_for_all_who_ask(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    agents_of = fleet.agents_of
    monkeypatch.setattr(fleet, "agents_of", lambda *asked: read.append(1) or agents_of(*asked))
    rows(world, role="viewer")
    first = len(read)
    assert first
    monkeypatch.setattr(fleet, "LIFETIME", 3_600.0)
    for role in ("owner", "superuser"):
        rows(world, role=role)
    assert len(read) == first
