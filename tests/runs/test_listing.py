from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from observatory.base.pages import page_of_rows
from observatory.runs.listing import ORDERS, RunFilter, find_runs
from observatory.runs.models import Run
from observatory.runs.search import search_names
from tests.support.projects import World, make_run
from tests.support.stored_findings import finding, keep


@pytest.fixture
def world(world: World) -> World:
    """The world without its run."""
    world.run.delete()
    return world


@pytest.fixture
def runs(world: World) -> dict[str, Run]:
    """Runs of the world by their names."""
    made = [
        make_run(
            world.ended, "nightly etl", 0, 30, tasks=500, tags={"git": "3f2a1c", "env": "prod"}, user="ada"
        ),
        make_run(
            world.ended, "nightly report", 40, 5, tasks=20, errors=3, outcome="erred", tags={"git": "77aa"}
        ),
        make_run(world.ended, "inc, sum", 50, 0.5, tasks=9000, origin="cut", pinned=True),
        make_run(world.live, "goes on", 60, None, origin="code", user="Adam"),
        make_run(world.elsewhere, "secret of beta", tags={"git": "3f2a1c"}),
    ]
    return {run.name: run for run in made}


def names(world: World, role: str = "viewer", **wanted: Any) -> list[str]:
    return [run.name for run in find_runs(world.people[role], RunFilter(**wanted))]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"project": "alpha"}, {"nightly etl", "nightly report", "inc, sum", "goes on"}),
        ({"project": "beta"}, set()),
        ({"name": "NIGHT report"}, {"nightly report"}),
        ({"name": "%"}, set()),
        ({"tag": ("git", "3f2a1c")}, {"nightly etl"}),
        ({"tag": ("git", "3f2a")}, set()),
        ({"tag": ("git", "")}, {"nightly etl", "nightly report"}),
        ({"user": "ada"}, {"nightly etl", "goes on"}),
        ({"outcome": "erred"}, {"nightly report"}),
        ({"origin": "cut"}, {"inc, sum"}),
        ({"shortest": 300.0, "longest": 1800.0}, {"nightly etl", "nightly report"}),
        ({"longest": 60.0}, {"inc, sum"}),
        ({"shortest": 3600.0}, {"goes on"}),
        ({"with_errors": True}, {"nightly report"}),
        ({"pinned": True}, {"inc, sum"}),
        ({"name": "nightly", "with_errors": True, "tag": ("git", "77aa")}, {"nightly report"}),
    ],
)
def test_runs_are_found_by(
    world: World, runs: dict[str, Run], wanted: dict[str, Any], found: set[str]
) -> None:
    assert set(names(world, **wanted)) == found


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("stragglers", {"nightly etl"}),
        ("found", {"nightly etl"}),
        ("none", {"nightly report"}),
        ("too-large", {"inc, sum"}),
        ("unknown", {"goes on"}),
        ("gil", set()),
    ],
)
def test_runs_are_found_by_their_main_finding(
    world: World, runs: dict[str, Run], wanted: str, found: set[str]
) -> None:
    keep(runs["nightly etl"], finding("stragglers", 5), finding("gil", 2))
    keep(runs["nightly report"])
    keep(runs["inc, sum"], state="too-large")
    keep(runs["secret of beta"], finding("stragglers", 5))
    assert set(names(world, finding=wanted)) == found


def test_runs_are_found_by_when_they_started_and_where(world: World, runs: dict[str, Run]) -> None:
    report = runs["nightly report"].start
    assert names(world, since=report, until=runs["inc, sum"].start) == ["nightly report"]
    assert names(world, cluster=world.live.pk) == ["goes on"]


def test_a_run_that_goes_on_is_as_long_as_it_has_gone_on_for(world: World) -> None:
    Run.objects.filter(pk=make_run(world.live, minutes=None).pk).update(start=now() - timedelta(minutes=2))
    assert names(world, shortest=60.0) == ["run"]
    assert names(world, longest=60.0) == []
    assert names(world, longest=180.0) == ["run"]


@pytest.mark.parametrize(
    ("order", "first", "last"),
    [
        ("-start", "inc, sum", "goes on"),
        ("duration", "inc, sum", "goes on"),
        ("tasks", "goes on", "inc, sum"),
        ("errors", "nightly etl", "nightly report"),
        ("name", "goes on", "nightly report"),
    ],
)
def test_runs_are_sorted_both_ways(
    world: World, runs: dict[str, Run], order: str, first: str, last: str
) -> None:
    rising = order.removeprefix("-")
    turned = rising if order.startswith("-") else f"-{rising}"
    assert names(world, order=order)[0] == first
    assert names(world, order=order)[-1] == last
    assert names(world, order=order) == names(world, order=turned)[::-1]


def test_who_is_in_no_project_finds_nothing_and_a_superuser_all(world: World, runs: dict[str, Run]) -> None:
    assert names(world, "nobody") == []
    assert names(world, "outsider") == ["secret of beta"]
    assert len(names(world, "superuser")) == 5


MANY = 100_000
FILL = """
    INSERT INTO runs_run (cluster_id, name, origin, outcome, start, stop, "user", tags, code, pinned, created,
                          tasks, errors, figures)
    SELECT %s, 'run ' || number %% 100, 'found', 'finished', begun, begun + random() * interval '1 hour',
           'of ' || number %% 1000 || '-', jsonb_build_object('git', md5(number::text)), '', false, begun,
           number, 0, '{}'
    FROM generate_series(1, %s) AS number,
         LATERAL (SELECT now() - number * interval '10 minutes' AS begun) AS at
"""


def test_of_a_hundred_thousand_runs_a_page_is_found_by_indexes(world: World) -> None:
    with connection.cursor() as cursor:
        cursor.execute(FILL, [world.ended.pk, MANY])
        cursor.execute("ANALYZE runs_run")
    tag = ("git", Run.objects.get(tasks=4321).tags["git"])
    assert names(world, tag=tag) == ["run 21"]
    for wanted in (
        *(RunFilter(order=order) for order in ORDERS if not order.endswith("name")),
        RunFilter(tag=tag),
        RunFilter(user="of 77-"),
        RunFilter(cluster=world.ended.pk),
    ):
        plan = find_runs(world.people["viewer"], wanted)[:50].explain(analyze=True, buffers=True)
        assert "Seq Scan on runs_run" not in plan, plan
        assert _pages(plan) < MANY / 20, plan
    user = world.people["viewer"]
    with CaptureQueriesContext(connection) as asked:
        assert len(page_of_rows(find_runs(user, RunFilter()), 50, MANY // 50)) == 50
    _, keys, rows = (query["sql"] for query in asked.captured_queries[:3])
    assert "OFFSET" in keys
    assert "figures" not in keys, "a late page sorts keys alone"
    assert "OFFSET" not in rows
    with CaptureQueriesContext(connection) as asked:
        found = search_names(user, Run.objects.get(tasks=4321).tags["git"])
    assert [run.tasks for run in found.runs] == [4321]
    [searched] = [query["sql"] for query in asked if "tag_text" in query["sql"]]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {searched}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "runs_run_name_words" in plan, plan
    assert "runs_run_tag_words" in plan, plan


def _pages(plan: str) -> int:
    """How many pages of the database the whole query looked at."""
    _, answer = plan.split("Buffers: shared ", 1)
    return sum(int(number) for number in re.findall(r"(?:hit|read)=(\d+)", answer.splitlines()[0]))
