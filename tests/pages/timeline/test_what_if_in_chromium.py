"""What if, on the tab Why?: the changes that help most, numbers of workers, and a form."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.support.projects import World
from tests.support.recorded_cluster import START, Recorded

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WORKERS, THREADS, TASKS, SECONDS = 2, 2, 24, 1.0
# panels above may still grow, which moves it out of sight again
LOADED = """() => {
  const panel = document.querySelector("[data-chart=what-if]");
  panel?.scrollIntoView({ block: "center", behavior: "instant" });
  const note = panel?.querySelector("[role=status]");
  const isDrawn = note?.hidden || note?.textContent;
  return isDrawn && !note.textContent.includes("loading");
}"""
HOSTILE = "<img src=x onerror=alert(1)>"


def address(world: World) -> str:
    window = {"from": START, "to": START + TASKS * SECONDS / WORKERS / THREADS, "tab": "why"}
    return f"/clusters/{world.ended.pk}/?{urlencode(window)}"


@pytest.fixture
def timeline(world: World, recorded: Recorded) -> str:
    """The URL of a cluster that computed independent tasks on two workers."""
    addresses = [f"tcp://10.0.0.1:400{number}" for number in range(WORKERS)]
    for number, each in enumerate(addresses):
        recorded.worker(each, f"w{number}")
    for task in range(TASKS):
        key, worker = f"{HOSTILE}-{task:08x}", addresses[task % WORKERS]
        start = task // (WORKERS * THREADS) * SECONDS
        recorded.span(key, worker, start, start + SECONDS, thread=1 + task // WORKERS % THREADS)
        recorded.transition(0, key, "released", "waiting")
        recorded.transition(0, key, "waiting", "queued")
        recorded.transition(start, key, "queued", "processing", worker)
    recorded.agent()
    return address(world)


def test_it_predicts_other_numbers_of_workers_and_what_one_tries(
    page: Page, timeline: str, complaints: list[str]
) -> None:
    page.goto(timeline)
    page.wait_for_function(LOADED)
    panel = page.locator("[data-chart=what-if]")
    expect(panel).to_contain_text("The window took 6.00 s on 2 workers with 2 threads each.")
    expect(panel).not_to_contain_text("Don't rely on this")
    expect(panel.locator("ol li").first).to_contain_text(": 3.2")
    sizes = panel.get_by_role("table", name="numbers of workers")
    expect(sizes.get_by_role("row")).to_have_count(5)  # one is the heading
    expect(sizes.get_by_role("row", name="2 workers 6.00 s 5.93 s – 6.07 s 6.00 s")).to_be_visible()
    one = re.compile(r"1 worker 12\.0 s 11\.\d s – 12\.\d s 12\.0 s")
    expect(sizes.get_by_role("row", name=one)).to_be_visible()

    form = panel.get_by_role("form", name="Try a change")
    workers = form.get_by_label("workers")
    workers.focus()
    page.keyboard.press("ArrowRight")
    expect(form.get_by_role("status")).to_contain_text("With 3 workers: 4.1")
    expect(form.get_by_role("status")).to_contain_text(" s – 4.")
    form.get_by_label("tasks of").select_option(label="load")
    expect(form.get_by_role("status")).to_contain_text(
        "With 3 workers, with tasks of load 2 times as fast: 2.3"
    )
    form.get_by_label("times as fast").fill("1000")
    page.keyboard.press("Enter")
    expect(form.get_by_role("status")).to_be_empty()
    assert complaints == []


def test_without_an_agent_it_says_what_is_missing(page: Page, world: World, recorded: Recorded) -> None:
    recorded.worker("tcp://10.0.0.1:4000", "w0")
    recorded.span("load-1", "tcp://10.0.0.1:4000", 1, 5)
    page.goto(address(world))
    page.wait_for_function(LOADED)
    panel = page.locator("[data-chart=what-if]")
    expect(panel.get_by_role("status").first).to_contain_text("Predictions need the agent")
    expect(panel.get_by_role("form")).to_have_count(0)
