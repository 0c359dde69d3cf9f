"""The Tasks tab: which prefix is slow, how its durations are distributed, where a task is found."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from observatory.clusters.models import Cluster
from observatory.runs.models import Run
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.records import Action, Sample, Series, Span
from tests.support.projects import World
from tests.support.recorded_cluster import START, Recorded, at

pytestmark = [pytest.mark.browser]

READY = "() => document.documentElement.dataset.ready === '1'"
OVERFLOW = """() => ["html", ".side", ".below", ".side .data-table-scroller"].filter((name) => {
  const part = document.querySelector(name);
  return part && part.scrollWidth > part.clientWidth;
})"""
"""parts of the page that are wider than their place"""
W0, W1 = "tcp://10.0.0.1:4000", "tcp://10.0.0.2:4000"
HOSTILE = "<img src=x onerror=alert(1)>"


def span(prefix: str, number: int, worker: str, start: float, seconds: float) -> Span:
    key, group = f"('{prefix}-a1', {number})", f"{prefix}-a1"
    begin = START + start
    return Span(worker, 1, key, prefix, group, Action.COMPUTE, begin, begin + seconds, 1000, "int")


@pytest.fixture
def cluster(world: World, recorded: Recorded) -> Cluster:
    """`fold` takes most time, `load` has most tasks; both workers run `fold`, and w1 its longest task."""
    for address, name in ((W0, "a-worker-with-a-name-of-forty-characters"), (W1, "w1")):
        recorded.worker(address, name, memory=dict.fromkeys(map(float, range(40)), 2.5))
    spans = [span("load", number, W0, number / 2, 0.01) for number in range(70)]
    spans += [span("fold", number, (W0, W1)[number % 2], number, 0.5 + number / 100) for number in range(30)]
    spans += [span("fold", 30, W1, 31, 6), span(HOSTILE, 0, W0, 38, 0.001)]
    kept = Series("observatory_prefix_memory_bytes", (("prefix", "load"),))
    samples = [Sample(kept, START + time, 2**20 * (5 if time < 20 else 7)) for time in range(40)]
    with Writer() as writer:
        writer.write(Batch.of(world.ended.pk, spans=spans, samples=samples))
    recorded.transfer("('load-a1', 0)", W0, W1, 12.2, 12.5, {"x": 3 * 2**20}, "load-a1")
    recorded.agent()
    recorded.error(5, "('load-a1', 3)", outcome="retried")
    recorded.error(6, "('load-a1', 4)")
    world.ended.started, world.ended.ended = at(-60), at(60)
    world.ended.save()
    return world.ended


@pytest.fixture
def run(cluster: Cluster) -> Run:
    return Run.objects.create(
        cluster=cluster, name="evening", start=at(0), stop=at(40), origin="found", outcome="finished"
    )


@pytest.fixture
def tab(page: Page, run: Run) -> Page:
    """The tab, one click from the run's page."""
    page.goto(f"/runs/{run.pk}/")
    page.wait_for_function(READY)
    page.get_by_role("link", name="Tasks", exact=True).click()
    expect(page.get_by_role("table", name="prefixes")).to_be_visible()
    return page


def test_the_slowest_prefix_is_the_first_and_a_click_selects_it(tab: Page, complaints: list[str]) -> None:
    names = tab.locator(".prefix-table tbody .row-name")
    expect(names).to_have_text(["fold", "load", HOSTILE])
    load = tab.get_by_role("row").filter(has_text="load")
    expect(load.locator("td").nth(2)).to_have_text("70")
    expect(load.locator("td").nth(15)).to_have_text("1")
    expect(load.locator("td").nth(16)).to_have_text("1")
    tab.get_by_role("button", name="tasks", exact=True).click()
    expect(names.first).to_have_text("load")
    names.nth(1).click()
    expect(names.nth(1)).to_have_attribute("aria-pressed", "true")
    tab.wait_for_url(re.compile("tab=tasks.*prefix="))
    assert complaints == []


def test_a_prefix_has_its_states_at_the_playhead_its_memory_and_what_its_tasks_fetched(
    page: Page, run: Run, recorded: Recorded, complaints: list[str]
) -> None:
    keys = [f"('load-a1', {number})" for number in range(4)]
    for number, key in enumerate(keys):
        recorded.transition(1, key, "released", "waiting", group="load-a1")
        recorded.transition(10 + 5 * number, key, "waiting", "processing", group="load-a1")
    recorded.transition(27, keys[0], "processing", "memory", group="load-a1")
    page.goto(f"/runs/{run.pk}/?tab=tasks&at={START + 12}")
    page.wait_for_function(READY)
    cells = (
        page.get_by_role("table", name="prefixes").get_by_role("row").filter(has_text="load").locator("td")
    )
    states = cells.nth(1).get_by_role("img")
    expect(states).to_have_attribute("aria-label", "3 waiting, 1 processing")
    expect(page.locator(".state-legend")).to_have_text("States:waitingprocessing")
    expect(cells.nth(10)).to_have_text("3.00 MiB")
    expect(cells.nth(14)).to_have_text("5.00 MiB")
    page.evaluate(f"() => observatory.context.timeline.setPlayhead({START + 38})")
    expect(states).to_have_attribute("aria-label", "3 processing, 1 memory")
    expect(cells.nth(14)).to_have_text("7.00 MiB")
    page.get_by_role("button", name="groups", exact=True).click()
    of_group = (
        page.get_by_role("table", name="groups", exact=True).get_by_role("row").filter(has_text="load-a1")
    )
    expect(of_group.locator("td").nth(0).get_by_role("img")).to_have_attribute(
        "aria-label", "3 processing, 1 memory"
    )
    assert complaints == []


def test_a_prefix_opens_to_its_durations_its_slowest_task_its_workers_and_groups(
    tab: Page, complaints: list[str]
) -> None:
    histogram = tab.locator(".prefix-table tbody tr").first.locator(".duration-bars")
    told = re.compile("31 tasks: the shortest .* the longest 6.00 s")
    expect(histogram).to_have_attribute("aria-label", told)
    tab.get_by_role("button", name="Details of fold").click()
    expect(tab.locator("figure .duration-bars")).to_be_visible()
    slowest = tab.get_by_role("table", name="slowest tasks")
    expect(slowest.locator("tbody tr").first).to_contain_text("('fold-a1', 30)")
    expect(slowest.locator("tbody tr").first).to_contain_text("6.00 s")
    workers = tab.get_by_role("table", name="workers of the prefix")
    expect(workers.locator("tbody .row-name")).to_have_text(
        ["w1", "a-worker-with-a-name-of-forty-characters"]
    )
    expect(tab.get_by_role("table", name="groups of the prefix")).to_contain_text("fold-a1")
    slowest.get_by_role("button", name="('fold-a1', 30)").click()
    tab.wait_for_function("() => observatory.context.selection.key === \"('fold-a1', 30)\"")
    assert tab.evaluate("() => observatory.context.timeline.playhead") == pytest.approx(START + 31)
    expect(slowest).to_be_visible()
    tab.get_by_role("button", name="groups", exact=True).click()
    expect(tab.get_by_role("table", name="groups", exact=True)).to_contain_text("load-a1")
    assert complaints == []


def test_a_key_is_found_in_the_run_and_in_no_other_time(tab: Page, complaints: list[str]) -> None:
    tab.get_by_role("searchbox", name="Find tasks by any part of their key").fill("fold-a1', 1")
    tab.keyboard.press("Enter")
    expect(tab.locator("[data-task]")).to_have_count(11)
    expect(tab.get_by_label("From")).not_to_have_value("")
    expect(tab.locator(".tabs a[aria-current]")).to_have_text("Tasks")
    assert complaints == []


@pytest.mark.parametrize("width", [1600, 390])
def test_tables_scroll_within_their_place(page: Page, run: Run, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1000})
    page.goto(f"/runs/{run.pk}/?tab=workers")
    page.wait_for_function(READY)
    expect(page.locator(".workers-now tbody tr")).to_have_count(2)
    assert page.evaluate(OVERFLOW) == []
    page.get_by_role("link", name="Tasks", exact=True).click()
    page.get_by_role("button", name="Details of fold").click()
    expect(page.get_by_role("table", name="slowest tasks").locator("tbody tr")).to_have_count(20)
    assert page.evaluate(OVERFLOW) == []


def test_the_tab_of_a_stock_cluster_says_what_the_agent_adds(
    page: Page, cluster: Cluster, recorded: Recorded
) -> None:
    recorded.connection.execute("DELETE FROM agent WHERE cluster_id = %s", [cluster.pk])
    recorded.connection.commit()
    page.goto(f"/clusters/{cluster.pk}/?tab=tasks&from={START}&to={START + 1}")
    expect(page.locator(".prefix-table tbody tr")).to_have_count(2)
    expect(page.get_by_text("recorded by the agent only")).to_be_visible()
