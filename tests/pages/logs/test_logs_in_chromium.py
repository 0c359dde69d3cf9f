"""The tab of logs: the lines of the window, beside the task stream."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from observatory.runs.models import Run
from tests.support.projects import HOSTILE, World
from tests.support.recorded_cluster import START, Recorded, at

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

A, B = "tcp://10.0.0.1:4000", "tcp://10.0.0.2:4000"
READY = "() => document.documentElement.dataset.ready === '1'"
PLAYHEAD = "() => observatory.context.timeline.playhead"


@pytest.fixture
def run(world: World, recorded: Recorded) -> Run:
    """A run of 60 s in which a worker ran out of memory."""
    for worker, name in ((A, "w0"), (B, "w1")):
        recorded.worker(worker, name, started=0)
        for second in range(0, 60, 2):
            recorded.span(f"load-{second}-{name}", worker, second, second + 1.5)
    recorded.agent()
    recorded.log(2, "Register worker", logger="distributed.scheduler")
    recorded.log(21, "Memory use is high", 30, "worker", A, logger="distributed.worker.memory")
    recorded.log(22, f"Worker {HOSTILE} exceeded 95%", 30, "nanny", A, logger="distributed.nanny")
    recorded.log(23, "Compute failed", 40, "worker", B, traceback="Traceback\nKeyError: 'x'")
    recorded.log(40, "Closing", logger="distributed.scheduler")
    recorded.log(70, "after the run")
    return Run.objects.create(
        cluster=world.ended, name="nightly", origin=Run.Origin.CUT, start=at(0), stop=at(60)
    )


def lines(page: Page) -> Locator:
    return page.locator("[data-chart=logs] tr[data-line] .log-text")


def test_what_the_logs_said_meanwhile_is_two_clicks_from_a_runs_page(
    page: Page, run: Run, complaints: list[str]
) -> None:
    page.goto(f"/runs/{run.pk}/?from={START + 10}&to={START + 50}&at={START + 30}")
    page.wait_for_function(READY)
    page.get_by_role("link", name="Logs").click()
    expect(lines(page)).to_have_count(4)
    mark = page.locator(".log-playhead")
    expect(mark).to_contain_text("playhead")
    after_mark = page.locator(".log-playhead + *")
    expect(after_mark).to_contain_text("Closing")
    expect(page.locator("[data-chart=log-counts] .legend")).to_contain_text("warning 2")
    page.get_by_text("exceeded 95%").click()
    assert page.evaluate(PLAYHEAD) == START + 22
    expect(after_mark).to_contain_text("Compute failed")
    page.get_by_text("traceback", exact=True).click()
    expect(page.get_by_text("KeyError: 'x'")).to_be_visible()
    assert page.evaluate(PLAYHEAD) == START + 22, "opening a traceback leaves the playhead"
    assert complaints == []


def test_the_filter_is_in_the_address_and_the_selected_worker_is_a_part_of_it(page: Page, run: Run) -> None:
    page.goto(f"/runs/{run.pk}/?tab=logs&from={START}&to={START + 60}&at={START + 10}")
    page.wait_for_function(READY)
    expect(lines(page)).to_have_count(5)
    page.get_by_label("Lowest level").select_option("warning and above")
    expect(lines(page)).to_have_count(3)
    page.get_by_label("Text in the message or traceback").fill(r"memory|95%")
    expect(lines(page)).to_have_count(0)
    page.get_by_role("button", name="The text is a regular expression").click()
    expect(lines(page)).to_have_count(2)
    page.locator("tr[data-line]", has_text="Memory use").get_by_role("button", name="w0").click()
    page.wait_for_url("**worker=**")
    page.wait_for_url("**regex=1**")
    page.reload()
    page.wait_for_function(READY)
    expect(lines(page)).to_have_text(["Memory use is high", f"Worker {HOSTILE} exceeded 95%"])
    expect(page.locator("[data-chart=log-counts] .legend")).to_have_text("warning 2")
    page.get_by_label("Text in the message or traceback").fill("a(b")
    expect(page.get_by_text("isn't a valid regular expression").last).to_be_visible()
    page.get_by_role("button", name="Clear").click()
    expect(lines(page)).to_have_count(5)


def test_lines_are_gone_through_with_the_keyboard(page: Page, run: Run) -> None:
    page.goto(f"/runs/{run.pk}/?tab=logs&from={START}&to={START + 60}&at={START + 10}")
    page.wait_for_function(READY)
    expect(lines(page)).to_have_count(5)
    start = page.evaluate("() => observatory.context.timeline.start")
    page.locator(".log-at").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("() => observatory.context.timeline.start") == start, "the window stays"
    page.keyboard.press("Enter")
    assert page.evaluate(PLAYHEAD) == START + 22


def test_of_a_live_run_new_lines_are_appended(page: Page, world: World, recorded: Recorded) -> None:
    cluster = world.ended
    cluster.ended, cluster.end_reason = None, ""
    cluster.save()
    recorded.worker(A, "w0", started=0)
    recorded.span("load-1", A, 1, 2)
    recorded.agent()
    recorded.log(3, "the first")
    run = Run.objects.create(cluster=cluster, name="nightly", origin=Run.Origin.FOUND, start=at(0))
    page.goto(f"/runs/{run.pk}/?tab=logs&live=100000000")
    page.wait_for_function(READY)
    expect(lines(page)).to_have_text(["the first"])
    recorded.log(5, "third")
    recorded.log(4, "late")
    recorded.connection.execute("UPDATE extent SET sequence = sequence + 1")
    expect(lines(page)).to_have_text(["the first", "late", "third"])


def test_without_an_agent_the_tab_says_what_it_needs(page: Page, world: World, recorded: Recorded) -> None:
    recorded.worker(A, "w0", started=0)
    recorded.span("load-1", A, 1, 2)
    page.goto(f"/clusters/{world.ended.pk}/?tab=logs&from={START}&to={START + 60}")
    page.wait_for_function(READY)
    expect(page.locator("[data-chart=logs]")).to_contain_text("--preload observatory.agent")
