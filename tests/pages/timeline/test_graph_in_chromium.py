"""From a run's page: what the graph looks like, in which states its tasks were, and where they waited."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from observatory.runs.models import Run
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from tests.support.projects import World
from tests.support.recorded_cluster import START, Recorded, at

pytestmark = [pytest.mark.browser]

ALICE = "tcp://10.0.0.1:4000"
HOSTILE = "sum-<img src=x onerror=alert(1)>"
READY = "() => document.documentElement.dataset.ready === '1'"
SELECTED = """() => {
  const { selection, model } = observatory.context;
  return [selection.prefix && model.prefixName(selection.prefix), selection.key];
}"""


@pytest.fixture
def run(world: World, recorded: Recorded) -> Run:
    recorded.worker(ALICE, "alice")
    recorded.span("('load-1', 0)", ALICE, 10, 50)
    world.ended.started, world.ended.ended = at(-60), at(60)
    world.ended.save()
    window = {"start": at(0), "stop": at(60), "origin": Run.Origin.CUT, "counted": timezone.now()}
    return Run.objects.create(cluster=world.ended, name="a run", **window)


def transitions(key: str, *path: tuple[float, str, str]) -> list[tuple[Any, ...]]:
    return [
        (START + time, key, start, finish, "", "update-graph-1" if start == "released" else "task-finished-1")
        for time, start, finish in path
    ]


@pytest.fixture
def observed_run(run: Run, recorded: Recorded) -> Run:
    summed = f"('{HOSTILE}', 0)"
    rows: dict[str, list[tuple[Any, ...]]] = {
        "transition": [
            *transitions("('load-1', 0)", (5, "released", "waiting"), (10, "waiting", "processing")),
            *transitions("('load-1', 0)", (50, "processing", "memory")),
            *transitions(summed, (5, "released", "waiting"), (50, "waiting", "processing")),
        ],
        "group_dependency": [(START + 5, "c1", HOSTILE, "load-1", 1)],
        "dependency": [(START + 5, "c1", summed, "('load-1', 0)")],
    }
    with Writer() as writer:
        writer.write(Batch.of(run.cluster_id, committed=START + 60, rows=rows))
    recorded.agent()
    return run


def test_it_shows_groups_and_tasks_with_their_states_and_where_they_waited(
    page: Page, observed_run: Run, complaints: list[str]
) -> None:
    page.goto(f"/runs/{observed_run.pk}/")
    page.wait_for_function(READY)
    page.get_by_role("link", name="Graph", exact=True).click()
    chart = page.locator("[data-chart=graph]")
    chart.scroll_into_view_if_needed()
    told = chart.locator("[aria-live]")
    expect(told).to_contain_text("2 groups and 1 edge")
    page.evaluate(f"() => observatory.context.timeline.jump({START + 30})")
    legend = chart.locator(".graph-legend")
    expect(legend).to_have_text("waiting 1processing 1")
    page.evaluate(f"() => observatory.context.timeline.jump({START + 60})")
    expect(legend).to_have_text("processing 1memory 1")
    expect(page.locator("[data-chart=groups-over-time] .legend")).to_contain_text("load-1")

    stage = page.get_by_role("application", name="Graph: ")
    stage.focus()
    page.keyboard.press("ArrowRight")
    expect(told).to_contain_text("load-1: memory 1, computed by then 1 of 1 task")
    page.keyboard.press("ArrowRight")
    expect(told).to_contain_text(f"{HOSTILE}: processing 1")
    expect(told).to_contain_text("waiting for what it needs 45.0 s")
    page.keyboard.press("Enter")
    assert page.evaluate(SELECTED)[0] not in (None, "load")
    panel = chart.locator(".graph-node")
    expect(panel.get_by_role("heading")).to_have_text(HOSTILE)
    panel.get_by_role("button", name="load-1").click()
    assert page.evaluate(SELECTED) == ["load", None]

    page.get_by_role("button", name="tasks (keys)").click()
    expect(told).to_contain_text("2 tasks and 1 edge")
    field = chart.get_by_role("searchbox")
    field.fill("onerror")
    expect(chart.get_by_text("1 found")).to_be_visible()
    field.press("Enter")
    stage.focus()
    page.keyboard.press("Enter")
    assert page.evaluate(SELECTED)[1] == f"('{HOSTILE}', 0)"
    page.keyboard.press("ArrowLeft")
    expect(told).to_contain_text("('load-1', 0): state memory, computed 40.0 s")
    assert complaints == []


def test_without_an_agent_it_shows_what_was_computed_and_says_what_is_missing(
    page: Page, run: Run, complaints: list[str]
) -> None:
    page.goto(f"/runs/{run.pk}/?tab=graph")
    page.wait_for_function(READY)
    chart = page.locator("[data-chart=graph]")
    chart.scroll_into_view_if_needed()
    expect(chart.locator("[aria-live]")).to_contain_text("1 group and 0 edges")
    expect(chart.locator(".chart-empty")).to_contain_text("The agent adds both.")
    assert complaints == []
