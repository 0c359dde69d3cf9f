"""The bars of usage by day, above its tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from playwright.sync_api import Page, expect

from observatory.clusters.models import Project
from observatory.runs.models import Usage
from tests.support.projects import HOSTILE, World, make_run

pytestmark = [pytest.mark.browser]

READY = "() => document.documentElement.dataset.ready === '1'"
BARS = """() => document.querySelector('[data-plot]').data.map(({ name, y }) => [name, y])"""


def test_bars_show_the_chosen_measure_of_each_group_by_day(
    page: Page, world: World, complaints: list[str]
) -> None:
    Project.objects.filter(pk=world.alpha.pk).update(thread_hour_price=Decimal(2), currency="EUR")
    run = make_run(world.live, HOSTILE, user=HOSTILE)
    day = datetime(2026, 5, 5, tzinfo=UTC)
    for number, hours in enumerate((4, 6)):
        for owner, part in ((None, 1.0), (run, 0.5)):
            Usage.objects.create(
                cluster=world.live,
                run=owner,
                day=(day + timedelta(days=number)).date(),
                until=day,
                thread_seconds=part * hours * 3600,
                busy_seconds=part * hours * 1800,
                tasks=part * hours,
            )
    page.goto("/usage/?since=2026-05-04&until=2026-05-07&by=person")
    page.wait_for_function(READY)
    plot = page.locator("[data-plot]")
    expect(plot).to_have_attribute("data-drawn", "Cost")
    hostile, outside = page.evaluate(BARS)
    assert hostile[0] == "&lt;img src=x onerror=alert(1)&gt;", "Plotly reads markup in names"
    assert [hostile[1], outside] == [[0, 4, 6, 0], ["outside of runs", [0, 4, 6, 0]]]
    page.get_by_role("button", name="Compute").click()
    expect(plot).to_have_attribute("data-drawn", "Compute")
    assert page.evaluate(BARS)[0][1] == [0, 1, 1.5, 0]
    expect(page.get_by_role("button", name="Compute")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#usage-groups tfoot")).to_contain_text("20.00 EUR")
    page.get_by_role("link", name="2026-05-06").click()
    page.wait_for_function(READY)
    assert "since=2026-05-06" in page.url
    assert complaints == []
