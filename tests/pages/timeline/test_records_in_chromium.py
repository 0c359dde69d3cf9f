"""The pages of errors, logs and tasks as a real browser shows them."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.support.projects import HOSTILE
from tests.support.recorded_cluster import Recorded

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ADDRESS = "tcp://10.0.0.1:4000"
# how many pixels of a canvas aren't empty
INK = """canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let ink = 0;
  for (let at = 3; at < data.length; at += 4) ink += data[at] > 0;
  return ink;
}"""


def make_error(recorded: Recorded, text: str = "no") -> str:
    memory = {float(-second): 4 - second / 20 for second in range(59, 0, -1)}
    events = [(-0.1, "worker-restarted", {"message": text})]
    recorded.worker(ADDRESS, text, died=0, memory=memory, events=events)
    recorded.transition(-50, text, "waiting", "processing", ADDRESS, group=text)
    recorded.log(-1, text, 30, "nanny", ADDRESS, logger=text, traceback=f"Traceback\n{text}")
    error = recorded.error(0.1, text, text, text, "killed", [ADDRESS], f"Traceback\n{text}", text, text)
    return f"/clusters/{recorded.cluster}/errors/{error}/"


def test_the_last_minute_of_a_worker_is_drawn_against_its_limit(page: Page, recorded: Recorded) -> None:
    page.goto(make_error(recorded))
    canvas = page.locator("[data-chart] canvas")
    canvas.wait_for()
    page.wait_for_function("() => document.querySelector('[data-chart] canvas').dataset.drawn === '59'")
    assert "at most 3.95 GiB, of a limit of 4.00 GiB" in (canvas.get_attribute("aria-label") or "")
    assert canvas.evaluate(INK) > 1000
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 30, box["y"] + 60)
    assert "of its limit" in page.locator(".tooltip").inner_text()


def test_hostile_records_run_nothing_and_break_no_policy(
    page: Page, recorded: Recorded, complaints: list[str]
) -> None:
    error = make_error(recorded, HOSTILE)
    base = f"/clusters/{recorded.cluster}"
    for path in (error, f"{base}/errors/", f"{base}/logs/", f"{base}/tasks/?key={HOSTILE}"):
        page.goto(path)
        assert page.get_by_text(HOSTILE).count()
        assert page.locator('img[src="x"]').count() == 0
    assert complaints == []


def test_every_page_of_records_fits_a_phone(page: Page, recorded: Recorded) -> None:
    error = make_error(recorded, "x" * 300)
    page.set_viewport_size({"width": 390, "height": 844})
    base = f"/clusters/{recorded.cluster}"
    for path in (error, f"{base}/errors/", f"{base}/logs/", f"{base}/tasks/?key={'x' * 300}"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_an_error_leads_to_its_task_its_logs_and_its_moment(page: Page, recorded: Recorded) -> None:
    error = make_error(recorded)
    page.goto(f"/clusters/{recorded.cluster}/")
    tabs = page.get_by_role("navigation", name="Pages of the cluster")
    tabs.get_by_role("link", name="Errors", exact=True).click()
    page.locator("[data-groups] a").first.click()
    assert page.url.endswith(error)
    page.get_by_role("link", name="in the logs").click()
    assert page.locator("[data-log]").count() == 1
    page.go_back()
    page.get_by_role("link", name="History of the task").click()
    assert page.locator("[data-transition]").count() == 1
    page.go_back()
    page.get_by_role("link", name="Show on the timeline").click()
    page.wait_for_function("() => document.documentElement.dataset.ready === '1'")
    assert page.get_by_role("link", name="History").is_visible()
    page.get_by_role("link", name="History").click()
    assert page.locator("[data-transition]").count() == 1
