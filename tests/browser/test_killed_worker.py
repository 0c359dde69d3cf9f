"""One page explains a KilledWorker error after its cluster is gone."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client, LocalCluster, wait
from playwright.sync_api import Page

import observatory.agent
from tests.browser.observatory import Observatory

pytestmark = [pytest.mark.browser, pytest.mark.root]

LIMIT = 300_000_000
DIED = 3


def eat_memory(share: float) -> int:
    """Allocate memory until the nanny kills this process."""
    taken = []
    for _ in range(200):
        taken.append(b"x" * int(LIMIT * share))
        time.sleep(0.1)
    return len(taken)


def run(observatory_url: str, token: str) -> str:
    """Run a task that needs too much memory until its workers are killed; returns its key."""
    settings = {
        "distributed.scheduler.allowed-failures": DIED - 1,
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.target": False,
    }
    workers: dict[str, Any] = {"n_workers": DIED, "threads_per_worker": 1, "memory_limit": LIMIT}
    with (
        dask.config.set(settings),
        LocalCluster(**workers, silence_logs="CRITICAL", dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        observatory.agent.register(client, url=observatory_url, token=token, name="last night's run")
        time.sleep(1)
        future = client.submit(eat_memory, 0.04, pure=False)
        wait(future, timeout=120)
        assert type(future.exception()).__name__ == "KilledWorker"
        time.sleep(3)
        return str(future.key)


def test_one_page_explains_a_killed_worker_after_the_cluster_is_gone(
    observatory: Observatory, page: Page, tmp_path: Path
) -> None:
    observatory.start()
    token = observatory.manage("ingest_token", "default").strip()
    key = run(observatory.url, token)

    observatory.sign_in(page)
    page.goto(f"{observatory.url}/clusters/")
    page.get_by_role("link", name="last night's run").first.click()
    tabs = page.get_by_role("navigation", name="Pages of the cluster")
    tabs.get_by_role("link", name="Errors", exact=True).click()
    with page.expect_navigation():
        page.get_by_role("link", name="KilledWorker").first.click()
    if not page.locator("article[data-error]").count():
        page.locator("a[href*='/errors/']").first.click()
    error = page.locator("article[data-error]")
    assert error.get_attribute("data-outcome") == "killed"
    assert page.locator("[data-field='exception-type']").inner_text() == "KilledWorker"
    assert page.locator("[data-field='key']").inner_text() == key
    assert "workers died while running it" in page.locator("[data-field='message']").inner_text()

    died = page.locator("[data-worker]").all()
    assert len({worker.get_attribute("data-worker") for worker in died}) == DIED
    for worker in died:
        assert worker.get_attribute("data-ended")
        assert worker.get_attribute("data-reason") == "lost"
        memory = [
            float(row.get_attribute("data-bytes") or 0)
            for row in worker.locator("[data-memory] [data-bytes]").all()
        ]
        assert len(memory) >= 3
        assert max(memory) > 0.8 * LIMIT
        assert worker.locator("[data-chart] canvas").count() == 1
        said = worker.inner_text()
        assert "memory budget" in said, "the nanny's line"
        assert "Restarting" in said
        assert worker.locator("[data-event='worker-restarted']").count() == 1
    history = [
        (row.get_attribute("data-from"), row.get_attribute("data-to"))
        for row in page.locator("[data-transition]").all()
    ]
    assert sum(finish == "processing" for _, finish in history) == DIED
    assert ("processing", "erred") in history
    page.screenshot(path=tmp_path / "killed-worker.png", full_page=True)

    page.locator("[data-link='timeline']").click()
    page.wait_for_function("() => document.documentElement.dataset.ready === '1'")
    assert key.split("-")[0] in page.content()
