"""Deleting as somebody does it in a browser: found on the pages, confirmed by the name, watched."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest
from celery.contrib.testing.worker import start_worker
from playwright.sync_api import Page, expect

from observatory.clusters.deletion.kinds.cluster import StoredRecords
from observatory.clusters.models import Cluster
from observatory.config.celery import app
from tests.support.projects import World
from tests.support.recorded_cluster import Recorded

pytestmark = pytest.mark.browser


def test_a_cluster_is_deleted_from_its_page_and_the_bar_moves(
    page: Page,
    world: World,
    recorded: Recorded,
    monkeypatch: pytest.MonkeyPatch,
    complaints: list[str],
) -> None:
    halfway, remove = threading.Event(), StoredRecords.remove

    def waiting(self: StoredRecords, number: int, told: Any) -> Any:
        while not halfway.wait(0.1):
            told(0.5)
        return remove(self, number, told)

    monkeypatch.setattr(StoredRecords, "remove", waiting)
    app.control.purge()
    with start_worker(app, pool="threads", concurrency=1, perform_ping_check=False):
        try:
            page.goto(f"/clusters/{world.ended.pk}/runs/")
            page.get_by_role("link", name="Delete this cluster").click()
            expect(page.get_by_role("heading", level=1)).to_have_text(
                f"Delete the cluster {world.ended.name}?"
            )
            page.get_by_label("to delete it").fill("another name")
            page.get_by_role("button", name="Delete").click()
            expect(page.get_by_role("alert")).to_contain_text("Nothing was deleted")
            page.get_by_label("to delete it").fill(world.ended.name)
            page.get_by_role("button", name="Delete").click()
            expect(page.locator("#progress-words")).to_have_text(re.compile(r"^[1-9]\d? %$"))
        finally:
            halfway.set()
        expect(page.get_by_text("The cluster is deleted.")).to_be_visible()
        expect(page.locator(".amounts")).to_contain_text("1 cluster")
    assert not Cluster.objects.filter(pk=world.ended.pk).exists()
    assert [each for each in complaints if "422" not in each] == []


def test_a_shorter_retention_is_set_back_on_the_projects_page(page: Page, world: World) -> None:
    page.goto("/projects/alpha/")
    page.get_by_label("Retention days").fill("7")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Set it back to 30 days").click()
    expect(page.get_by_text("The retention is set back.")).to_be_visible()
    world.alpha.refresh_from_db()
    assert (world.alpha.retention_days, world.alpha.is_shortened) == (30, False)
