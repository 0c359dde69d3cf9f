"""What was in memory at a moment, by key, and all of one worker: on a recording of a real cluster."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from observatory.store.connection import read_connection
from tests.support.observed_cluster import Observed, agent_server, observed
from tests.support.observed_tasks import HOSTILE

__all__ = ["agent_server", "observed"]

pytestmark = [pytest.mark.browser]

READY = "() => document.documentElement.dataset.ready === '1'"


def chart(page: Page, name: str) -> Locator:
    """A chart in sight: others are not drawn."""
    found = page.locator(f"[data-chart={name}]")
    found.scroll_into_view_if_needed()
    return found


def test_results_in_memory_and_a_worker_are_those_of_the_playhead(
    page: Page, observed: Observed, complaints: list[str]
) -> None:
    with read_connection() as connection:
        query = """SELECT extract(epoch FROM max(stop))::float8, max(worker_id) FROM span
            JOIN lane ON lane.id = lane_id JOIN prefix ON prefix.id = prefix_id
            WHERE span.cluster_id = %s AND prefix.name = 'len'"""
        row = connection.execute(query, [observed.cluster.pk]).fetchone()
    assert row is not None
    moment, worker = row
    page.goto(f"/runs/{observed.run.pk}/?tab=memory&at={moment + 0.3:.3f}")
    page.wait_for_function(READY)
    expect(page.locator("[data-chart=gpu-memory]")).to_have_count(0)
    expect(chart(page, "prefix-memory").locator(".legend")).to_contain_text("make")
    results = chart(page, "results-now")
    expect(results.locator("tbody th").first).to_have_text("make-1")
    expect(results.locator("tbody tr").first).to_contain_text("4.77 MiB")
    results.get_by_label("Find results by a part of their key").fill("len-")
    expect(results.locator("tbody th")).to_have_text([f"len-{HOSTILE}"])
    page.get_by_role("link", name="Workers", exact=True).click()
    table = chart(page, "workers-table")
    expect(table.locator("tbody tr")).to_have_count(2)
    expect(chart(page, "worker-detail")).to_contain_text("Select a worker")
    table.locator(f"button[data-row='{worker}']").press("Enter")
    detail = chart(page, "worker-detail")
    expect(
        detail.get_by_label("what the selected worker ran at the playhead").locator("tbody tr")
    ).not_to_have_count(0)
    expect(detail.get_by_label("processes of the selected worker").locator("tbody tr")).to_have_count(1)
    expect(detail.locator(".worker-stack").first).to_contain_text("sum_slowly")
    expect(detail).to_contain_text("Statistical: ")
    expect(page).to_have_url(re.compile(rf"tab=workers.*worker={worker}"))
    expect(chart(page, "results-now")).to_contain_text("on ")
    assert complaints == []
