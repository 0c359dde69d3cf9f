"""The Profile tab: a profile is compared with another window's, and with another run's."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect

from observatory.runs.models import Run
from observatory.store.times import from_seconds
from tests.support.observed_cluster import Observed

pytestmark = [pytest.mark.browser]

READY = "() => document.documentElement.dataset.ready === '1'"
COMPARED = "[data-chart=profile] canvas[data-compared='true']"


@dataclass
class Halves:
    """Two windows of the same length beside each other, and their samples of tasks."""

    start: float
    middle: float
    stop: float
    before: int
    after: int


@pytest.fixture
def halves(observed: Observed) -> Halves:
    samples: Counter[float] = Counter()
    for row in observed.received.rows["profile"]:
        if row["source"] == "task":
            samples[row["time"]] += row["count"]
    times = sorted(samples)
    stop = times[-1] + 0.01
    # on a loaded machine samples are reported long after the last task has ended
    computed = max(row["stop"] for row in observed.received.rows["span"])
    found = [_halves(samples, time - 0.01, stop) for time in times if time < computed]
    best = max(found, key=lambda one: min(one.before, one.after))
    assert best.before
    return best


def _halves(samples: Counter[float], middle: float, stop: float) -> Halves:
    start = 2 * middle - stop
    sums = [
        sum(count for time, count in samples.items() if first < time <= last)
        for first, last in ((start, middle), (middle, stop))
    ]
    return Halves(start, middle, stop, *sums)


def opened(page: Page, path: str) -> Locator:
    page.goto(path)
    page.wait_for_function(READY)
    panel = page.locator("[data-chart=profile]")
    panel.scroll_into_view_if_needed()
    return panel


def samples(count: int) -> str:
    return f"{count:,} samples"


def test_a_window_is_compared_with_the_one_before_swapped_and_shared_as_an_address(
    page: Page, observed: Observed, halves: Halves, complaints: list[str]
) -> None:
    times = f"from={halves.middle}&to={halves.stop}&at={halves.stop}"
    panel = opened(page, f"/clusters/{observed.cluster.pk}/?tab=profile&{times}")
    heading = panel.locator(".flame-heading").first
    expect(heading).to_contain_text(f"{samples(halves.after)} of tasks on all workers")
    panel.get_by_label("Compare with", exact=False).first.select_option("before")
    page.wait_for_selector(COMPARED)
    expect(heading).to_contain_text(f"compared with the window before: {samples(halves.before)}")
    expect(panel.locator(".flame-legend")).to_contain_text("less in this window")
    table = panel.get_by_role("table", name="functions, the largest differences first")
    slowly = table.locator("tbody tr").filter(has_text="sum_slowly")
    expect(slowly).to_contain_text("pp")
    panel.get_by_role("button", name="Swap").click()
    expect(heading).to_contain_text(f"compared with this window: {samples(halves.after)}")
    page.wait_for_function("() => location.search.includes('against=before&swap=1')")
    again = opened(page, page.url)
    page.wait_for_selector(COMPARED)
    expect(again.locator(".flame-heading").first).to_contain_text("compared with this window")
    assert complaints == []


def test_a_pinned_window_stays_while_the_shown_one_moves(
    page: Page, observed: Observed, halves: Halves, complaints: list[str]
) -> None:
    times = f"from={halves.start}&to={halves.middle}&at={halves.middle}"
    panel = opened(page, f"/clusters/{observed.cluster.pk}/?tab=profile&{times}")
    panel.get_by_role("button", name="Compare with this window").click()
    page.wait_for_function("() => /against=[0-9.]+-[0-9.]+/.test(location.search)")
    page.evaluate(f"() => observatory.context.timeline.setWindow({halves.middle}, {halves.stop})")
    heading = panel.locator(".flame-heading").first
    expect(heading).to_contain_text(f"{samples(halves.after)} of tasks")
    expect(heading).to_contain_text("compared with the pinned window")
    expect(heading).to_contain_text(f": {samples(halves.before)}")
    select = panel.get_by_label("Compare with", exact=False).first
    select.select_option("")
    expect(panel.locator("canvas")).to_have_attribute("data-compared", "false")
    select.select_option(label=select.locator("option").nth(2).inner_text())
    page.wait_for_selector(COMPARED)
    assert complaints == []


def test_a_run_is_compared_with_an_earlier_one_of_its_name_by_what_is_selected(
    page: Page, observed: Observed, halves: Halves, complaints: list[str]
) -> None:
    earlier, later = (
        Run.objects.create(
            cluster=observed.cluster,
            name="etl",
            origin=Run.Origin.CUT,
            outcome=Run.Outcome.FINISHED,
            start=from_seconds(start),
            stop=from_seconds(stop),
        )
        for start, stop in ((halves.start, halves.middle), (halves.middle, halves.stop))
    )
    panel = opened(page, f"/runs/{later.pk}/?tab=profile")
    select = panel.get_by_label("Compare with", exact=False).first
    expect(select.locator(f"option[value=run-{earlier.pk}]")).to_be_attached()
    select.select_option(f"run-{earlier.pk}")
    page.wait_for_selector(COMPARED)
    heading = panel.locator(".flame-heading").first
    expect(heading).to_contain_text(f"compared with run etl #{earlier.pk}: {samples(halves.before)}")
    prefix = page.evaluate(
        "() => [...observatory.context.model.prefixes.values()].find(({ name }) => name === 'sum_slowly').id"
    )
    page.evaluate(f"() => observatory.context.selection.set({{ prefix: {json.dumps(prefix)} }})")
    expect(heading).to_contain_text("of tasks of prefix sum_slowly")
    expect(heading).to_contain_text(f"compared with run etl #{earlier.pk}")
    assert complaints == []


def test_a_run_that_is_gone_is_named(page: Page, observed: Observed) -> None:
    panel = opened(page, f"/clusters/{observed.cluster.pk}/?tab=profile&against=run-999999")
    expect(panel.get_by_text("Run #999999 can't be compared with: the server answered 404.")).to_be_visible()
    expect(panel.locator("canvas")).to_have_attribute("data-compared", "false")
