"""Dask's own pages of a real worker, through a whole Observatory."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, WebSocket, expect

from tests.browser.observatory import Observatory
from tests.collect.dask_processes import scheduler

pytestmark = [pytest.mark.browser, pytest.mark.root]


def test_bokeh_draws_a_living_worker_in_the_sandbox_and_a_dead_one_has_an_explanation(
    observatory: Observatory, page: Page, tmp_path: Path
) -> None:
    observatory.environment["OBSERVATORY_WORKER_PAGES"] = "127.0.0.0/8"
    observatory.start()
    sockets: list[WebSocket] = []
    frames_received: list[str | bytes] = []
    page.on("websocket", lambda socket: sockets.append(socket))
    with scheduler(prefix="/behind/a/prefix") as dask:
        dask.start_worker("w0", 2, "--no-nanny", "--dashboard-prefix", "/behind/a/prefix")
        dask.start_worker("w1", 2, "--no-nanny", "--no-dashboard")
        with dask.client() as client:
            client.wait_for_workers(2, timeout=180)
            observatory.watch(dask.url, "dask")
            observatory.sign_in(page)
            client.gather(client.map(lambda number: number + 1, range(100)))
            deadline = time.monotonic() + 180
            while observatory.query("SELECT count(*) FROM worker WHERE detail ? 'dashboard'") != 2:
                assert time.monotonic() < deadline
                time.sleep(0.2)
            rows = observatory.rows("SELECT name, id, cluster_id FROM worker")
            ids = {name: worker for name, worker, _ in rows}
            cluster = rows[0][2]

            page.goto(f"{observatory.url}/clusters/{cluster}/?tab=workers&worker={ids['w0']}")
            page.locator("[data-chart=worker-detail]").scroll_into_view_if_needed()
            link = page.get_by_role("link", name="Dask’s own pages")
            assert "noopener" in (link.get_attribute("rel") or "")
            with page.context.expect_page() as opened:
                link.click()
            pages = opened.value
            pages.on("websocket", lambda socket: sockets.append(socket))
            pages.set_viewport_size({"width": 1600, "height": 1000})
            shown = pages.frame_locator("iframe")
            for name in ("System", "Status"):
                shown.get_by_role("link", name=name).click()
                pages.frames[1].wait_for_url(f"**/{name.lower()}")
                expect(shown.locator("canvas").first).to_be_visible()
                assert pages.frames[1].evaluate("() => self.origin") == "null"
            live = sockets[-1]
            assert re.search(r"/worker-pages/[\w-]+/\w+/ws", live.url)
            live.on("framereceived", lambda payload: frames_received.append(payload))
            deadline = time.monotonic() + 120
            while len(frames_received) < 10:
                assert time.monotonic() < deadline, "no messages of Bokeh"
                pages.wait_for_timeout(200)
            pages.screenshot(path=tmp_path / "worker-pages.png")

            pages.goto(f"{observatory.url}/clusters/{cluster}/workers/{ids['w1']}/pages/")
            expect(pages.get_by_role("heading", name="This worker has no pages")).to_be_visible()
        dask.workers[0].kill()
        deadline = time.monotonic() + 180
        while observatory.query("SELECT count(*) FROM worker WHERE ended IS NOT NULL") != 1:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        pages.goto(f"{observatory.url}/clusters/{cluster}/workers/{ids['w0']}/pages/")
        expect(pages.get_by_role("heading", name="This worker has ended")).to_be_visible()
        pages.get_by_role("link", name="What is recorded of it").click()
        pages.wait_for_function("() => document.documentElement.dataset.ready === '1'")
        pages.locator("[data-chart=worker-detail]").scroll_into_view_if_needed()
        expect(pages.locator("[data-chart=worker-detail]")).to_contain_text("tcp://127.0.0.1")
        expect(pages.get_by_role("link", name="Dask’s own pages")).to_have_count(0)
