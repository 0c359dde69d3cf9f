"""What clusters and runs used on each day, and what it cost."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from observatory.clusters.models import Cluster, Project
from observatory.runs.models import Run, Usage
from observatory.runs.refresh import refresh_figures
from observatory.runs.usage.counting import count_clusters, count_runs, days_of
from observatory.runs.usage.prices import cost_of_run
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.wire.records import Action, Event, Sample, Series, Span, WorkerSeen
from tests.store.conftest import ADDRESS
from tests.support.projects import HOSTILE, World, make_cluster

MIDNIGHT = datetime(2026, 5, 6, tzinfo=UTC)
FIRST, SECOND = date(2026, 5, 5), date(2026, 5, 6)
HOUR = 3_600.0
GIB = 2**30
RANGE = {"since": "2026-05-01", "until": "2026-05-31"}


def span(start: float, stop: float, thread: int = 1) -> Span:
    """Times are hours after midnight."""
    begin = MIDNIGHT.timestamp()
    key = f"inc-{start}-{thread}"
    return Span(ADDRESS, thread, key, "inc", "inc", Action.COMPUTE, begin + start * HOUR, begin + stop * HOUR)


@pytest.fixture
def nightly(transactional_db: None, world: World) -> Iterator[Cluster]:
    """A cluster of Alpha from two hours before midnight to one hour after, with a worker of two threads and
    4 GiB. A task computes from half an hour before midnight to a quarter after, another one for a quarter."""
    world.ended.delete()
    cluster = make_cluster(world.alpha, 20, name="nightly")
    Cluster.objects.filter(pk=cluster.pk).update(ended=MIDNIGHT + timedelta(hours=1))
    cluster.refresh_from_db()
    seen = WorkerSeen(ADDRESS, "w", "h", 2, 4 * GIB, MIDNIGHT.timestamp() - 2 * HOUR)
    spans = [span(-0.5, 0.25), span(0.5, 0.75, thread=2)]
    erred = Event(MIDNIGHT.timestamp() + 0.5 * HOUR, "tasks-erred", "", {"count": 3})
    with Writer() as writer:
        first = Sample(Series("observatory_cluster_threads"), _time(-2), 2)
        writer.write(Batch.of(cluster.pk, [seen], spans, [first], [erred], committed=_time(1)))
    yield cluster
    delete_cluster(cluster.pk)


def _time(hours: float) -> float:
    return MIDNIGHT.timestamp() + hours * HOUR


def make_run(cluster: Cluster, start: float, stop: float, **fields: Any) -> Run:
    """Times are hours after midnight."""
    known = {"name": "etl", "origin": Run.Origin.CODE, "outcome": Run.Outcome.FINISHED, **fields}
    window = {"start": MIDNIGHT + timedelta(hours=start), "stop": MIDNIGHT + timedelta(hours=stop)}
    run = Run.objects.create(cluster=cluster, **window, **known)
    refresh_figures(run)
    return run


def priced(project: Project, **prices: Any) -> None:
    known = {"thread_hour_price": Decimal("0.5"), "currency": "EUR", **prices}
    Project.objects.filter(pk=project.pk).update(**known)


def hours(cluster: Cluster, day: date, name: str, run: Run | None = None) -> float:
    usage = Usage.objects.get(cluster=cluster, run=run, day=day)
    return round(float(getattr(usage, f"{name}_seconds")) / HOUR, 4)


def usage(world: World, role: str = "viewer", **query: str) -> Any:
    answer = world.client(role).get("/api/v1/usage", {**RANGE, **query})
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_a_window_is_split_at_midnights_of_utc() -> None:
    start, stop = MIDNIGHT - timedelta(hours=2), MIDNIGHT + timedelta(days=1, hours=3)
    next_day = MIDNIGHT + timedelta(days=1)
    assert list(days_of(start, stop)) == [(start, MIDNIGHT), (MIDNIGHT, next_day), (next_day, stop)]
    assert list(days_of(MIDNIGHT, next_day)) == [(MIDNIGHT, next_day)]
    assert list(days_of(start, start)) == []


def test_each_day_has_its_part_of_a_cluster_that_lives_over_midnight(nightly: Cluster) -> None:
    count_clusters()
    of_cluster = {day: hours(nightly, day, "cluster") for day in (FIRST, SECOND)}
    assert of_cluster == {FIRST: 2, SECOND: 1}
    assert {day: hours(nightly, day, "thread") for day in (FIRST, SECOND)} == {FIRST: 4, SECOND: 2}
    assert {day: hours(nightly, day, "worker") for day in (FIRST, SECOND)} == {FIRST: 2, SECOND: 1}
    assert {day: hours(nightly, day, "memory") / GIB for day in (FIRST, SECOND)} == {FIRST: 8, SECOND: 4}
    assert {day: hours(nightly, day, "busy") for day in (FIRST, SECOND)} == {FIRST: 0.5, SECOND: 0.5}
    counts = {row.day: (row.tasks, row.errors) for row in Usage.objects.filter(cluster=nightly)}
    assert counts == {FIRST: (0, 0), SECOND: (2, 3)}, "a task counts where it ends"


def test_counting_again_changes_nothing_and_goes_on_where_records_arrived(nightly: Cluster) -> None:
    Cluster.objects.filter(pk=nightly.pk).update(ended=None)
    assert count_clusters() == 2
    kept = list(Usage.objects.order_by("day").values())
    assert count_clusters() == 0
    assert list(Usage.objects.order_by("day").values()) == kept
    with Writer() as writer:
        writer.write(Batch.of(nightly.pk, spans=[span(2, 3)], committed=_time(3)))
    assert count_clusters() == 1, "only the day that isn't over"
    assert (hours(nightly, FIRST, "busy"), hours(nightly, SECOND, "busy")) == (0.5, 1.5)
    assert hours(nightly, SECOND, "cluster") == 3


def test_a_run_over_midnight_has_its_part_of_each_day(nightly: Cluster) -> None:
    run = make_run(nightly, -1, 0.5)
    count_runs()
    assert {day: hours(nightly, day, "thread", run) for day in (FIRST, SECOND)} == {FIRST: 2, SECOND: 1}
    assert {day: hours(nightly, day, "busy", run) for day in (FIRST, SECOND)} == {FIRST: 0.5, SECOND: 0.25}
    assert count_runs() == 0
    run.stop = MIDNIGHT
    refresh_figures(run)
    Run.objects.filter(pk=run.pk).update(stop=MIDNIGHT)
    assert count_runs() == 1
    assert [row.day for row in run.usage.all()] == [FIRST], "a day that isn't its own any more is gone"


def test_a_run_within_a_day_costs_no_counting(nightly: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(nightly, 0.25, 1)
    monkeypatch.setattr("observatory.runs.usage.counting.count_window", lambda *_: pytest.fail("counted"))
    count_runs()
    assert (hours(nightly, SECOND, "thread", run), hours(nightly, SECOND, "busy", run)) == (1.5, 0.25)


def test_usage_is_added_up_by_project_person_and_tag(world: World, nightly: Cluster) -> None:
    make_run(nightly, -1, 0, user="ada", tags={"team": "blue"})
    make_run(nightly, 0, 0.5, user="ben", tags={"team": "blue"})
    make_run(nightly, 0.5, 0.75)
    make_run(nightly, -2, 1, origin=Run.Origin.CUT, user="not counted")
    count_clusters()
    count_runs()

    def threads(**query: str) -> dict[str, float]:
        groups = usage(world, **query)["groups"]
        return {group["name"]: round(group["thread_seconds"] / HOUR, 4) for group in groups}

    assert threads() == {"Alpha": 6}
    assert threads(by="person") == {"ada": 2, "ben": 1, "unknown": 0.5, "outside of runs": 2.5}
    assert threads(by="tag", tag="team") == {"blue": 3, "without the tag": 0.5, "outside of runs": 2.5}
    assert threads(until=str(FIRST)) == {"Alpha": 4}
    assert threads(by="person", since=str(SECOND)) == {"ben": 1, "unknown": 0.5, "outside of runs": 0.5}
    answer = usage(world)
    assert [(row["day"], row["tasks"], row["errors"]) for row in answer["days"]] == [
        (str(FIRST), 0, 0),
        (str(SECOND), 2, 3),
    ]
    assert answer["total"]["idle_seconds"] == pytest.approx(5 * HOUR)


def test_costs_are_those_of_each_projects_prices(world: World, nightly: Cluster) -> None:
    count_clusters()
    assert usage(world)["total"]["costs"] == []
    priced(world.alpha, gib_hour_price=Decimal("0.01"), worker_hour_price=Decimal("0.1"))
    [cost] = usage(world)["total"]["costs"]
    assert cost["currency"] == "EUR"
    assert cost["amount"] == pytest.approx(6 * 0.5 + 12 * 0.01 + 3 * 0.1)
    other = make_cluster(world.beta, 21, name="of beta")
    priced(world.beta, thread_hour_price=Decimal(2), currency="$")
    Usage.objects.create(cluster=other, day=FIRST, until=MIDNIGHT, thread_seconds=HOUR)
    costs = {cost["currency"]: cost["amount"] for cost in usage(world, "superuser")["total"]["costs"]}
    assert costs == {"EUR": pytest.approx(3.42), "$": 2}
    assert [group["name"] for group in usage(world)["groups"]] == ["Alpha"], "a viewer sees Alpha only"


def test_a_run_says_what_it_cost(world: World, nightly: Cluster) -> None:
    run = make_run(nightly, -1, 0.5)
    client = world.client("viewer")
    assert client.get(f"/api/v1/runs/{run.pk}/card").json()["cost"] is None
    priced(world.alpha)
    cost = client.get(f"/api/v1/runs/{run.pk}/card").json()["cost"]
    assert (cost["amount"], cost["currency"]) == (pytest.approx(1.5), "EUR")
    assert "1.50 EUR" in client.get(f"/runs/{run.pk}/").content.decode()
    run.figures.pop("worker_seconds")
    run.cluster.project.refresh_from_db()
    assert cost_of_run(run) is None, "an older Observatory counted it"


def test_many_groups_are_the_largest_and_all_others(world: World, nightly: Cluster) -> None:
    for number in range(25):
        run = make_run(nightly, 0, 0.01, user=f"person {number:02}", counted=None)
        Usage.objects.create(
            cluster=nightly, run=run, day=FIRST, until=MIDNIGHT, thread_seconds=number + 1, tasks=1
        )
    Usage.objects.create(cluster=nightly, day=FIRST, until=MIDNIGHT, thread_seconds=400, tasks=30)
    groups = usage(world, by="person")["groups"]
    assert [group["name"] for group in groups[:2]] == ["person 24", "person 23"]
    assert [group["kind"] for group in groups] == ["value"] * 20 + ["others", "outside"]
    assert (groups[20]["thread_seconds"], groups[20]["tasks"]) == (1 + 2 + 3 + 4 + 5, 5)
    assert (groups[21]["thread_seconds"], groups[21]["tasks"]) == (400 - 25 * 26 / 2, 5)


def test_a_year_of_many_clusters_takes_few_queries(world: World, nightly: Cluster) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            usage(world, by="person", since="2025-06-01")
        return len(asked)

    usage(world, by="person")
    few = queries()
    Usage.objects.bulk_create(
        Usage(cluster=nightly, day=FIRST - timedelta(days=number), until=MIDNIGHT, thread_seconds=1)
        for number in range(300)
    )
    assert queries() == few < 12


@pytest.mark.parametrize(
    ("query", "field", "words"),
    [
        ({"since": "2026-05-10", "until": "2026-05-01"}, "since", "after the last"),
        ({"since": "2020-01-01"}, "since", "at most 366 days"),
        ({"by": "tag"}, "tag", "name of the tag"),
    ],
)
def test_a_refused_range_says_what_to_do(world: World, query: dict[str, str], field: str, words: str) -> None:
    client = world.client("viewer")
    answer = client.get("/api/v1/usage", {**RANGE, **query})
    assert answer.status_code == 422
    assert words in answer.json()["errors"][field][0]
    page = client.get("/usage/", {**RANGE, **query})
    assert page.status_code == 200
    assert words in page.content.decode()


def test_the_page_has_tables_of_groups_and_days_and_a_csv(world: World, nightly: Cluster) -> None:
    make_run(nightly, -1, 0, user=HOSTILE)
    count_clusters()
    count_runs()
    priced(world.alpha)
    client = world.client("viewer")
    page = client.get("/usage/", {**RANGE, "by": "person"}).content.decode()
    assert HOSTILE not in page
    for shown in ("&lt;img src=x", "outside of runs", "3.00 EUR", "12 GiB h", "2026-05-06"):
        assert shown in page
    content = client.get("/usage/", {**RANGE, "format": "csv"}).content.decode()
    rows = list(csv.DictReader(io.StringIO(content)))
    assert [(row["day"], row["project"]) for row in rows] == [(str(FIRST), "Alpha"), (str(SECOND), "Alpha")]
    assert [float(row["thread hours"]) for row in rows] == pytest.approx([4, 2])
    assert [float(row["cost EUR"]) for row in rows] == pytest.approx([2, 1])
    assert "Alpha" not in world.client("outsider").get("/usage/", RANGE).content.decode()


def test_without_usage_the_page_leads_on(world: World) -> None:
    assert world.client("viewer").get("/usage/", {"until": "0001-01-02"}).status_code == 200
    page = world.client("viewer").get("/usage/", {"until": "2020-01-01"}).content.decode()
    assert "Nothing was used" in page
    assert "Show the last 30 days of all projects" in page


@pytest.mark.parametrize(
    ("prices", "status"),
    [
        ({"thread_hour_price": "0.042", "currency": "EUR"}, 302),
        ({"gib_hour_price": "0.01", "worker_hour_price": "1", "currency": "€"}, 302),
        ({"thread_hour_price": "", "currency": ""}, 302),
        ({"thread_hour_price": "0.042", "currency": ""}, 422),
        ({"thread_hour_price": "-1", "currency": "EUR"}, 422),
        ({"thread_hour_price": "NaN", "currency": "EUR"}, 422),
        ({"thread_hour_price": "1e9", "currency": "EUR"}, 422),
        ({"thread_hour_price": "1", "currency": "<b>"}, 422),
        ({"thread_hour_price": "1", "currency": "E1"}, 422),
    ],
)
def test_an_owner_sets_the_prices_of_a_project(world: World, prices: dict[str, str], status: int) -> None:
    settings = {"name": "Alpha", "retention_days": 7, "run_idle_seconds": 90, **prices}
    assert world.client("owner").post("/projects/alpha/", settings).status_code == status
    assert world.client("viewer").post("/projects/alpha/", settings).status_code == 403
    world.alpha.refresh_from_db()
    assert world.alpha.has_price == (status == 302 and any(prices.get(name) for name in list(prices)[:-1]))
