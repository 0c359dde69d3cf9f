"""Charts in a small frame of another origin, in Chromium."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import BrowserContext, FrameLocator, Page, expect

from observatory.clusters.tokens import access_tokens
from observatory.pages.framed.charts import START
from tests.support.observed_cluster import Observed
from tests.support.projects import World

pytestmark = [pytest.mark.browser]

# what JupyterLab's extension for Dask lets a frame do
SANDBOX = "allow-scripts allow-same-origin"
FRAME = f'<!doctype html><iframe sandbox="{SANDBOX}" width=520 height=320 src="{{url}}"></iframe>'


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    """Another origin of the same site, to which cookies go without HTTPS; `tmp_path` has its pages."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def _allow(settings: Any, *origins: str) -> None:
    directives = {**settings.CONTENT_SECURITY_POLICY["DIRECTIVES"], "frame-ancestors": list(origins)}
    settings.CONTENT_SECURITY_POLICY = {"DIRECTIVES": directives}
    settings.FRAME_ANCESTORS = list(origins)


@pytest.fixture
def framed(page: Page, observed: Observed, hub: str, tmp_path: Path, live_server: Any) -> Any:
    """Opens a page of the other site with a chart in a frame; returns the frame's content."""

    def open_frame(chart: str, query: str = "") -> FrameLocator:
        url = f"{live_server.url}/clusters/{observed.cluster.pk}/{START}{chart}{query}"
        name = f"{uuid4()}.html"  # a page of its own: browsers keep those that they know
        (tmp_path / name).write_text(FRAME.format(url=url))
        page.goto(f"{hub}/{name}")
        return page.frame_locator("iframe")

    return open_frame


def test_a_chart_fits_a_small_frame_of_a_site_that_may_show_it(
    framed: Any, page: Page, hub: str, settings: Any, complaints: list[str]
) -> None:
    _allow(settings, hub)
    for name in ("task-stream", "progress", "workers-memory", "workers"):
        frame = framed(name)
        expect(frame.locator("html[data-ready]")).to_be_attached()
        expect(frame.locator(".panel:visible")).to_have_count(1)
        for around in (".header", ".transport", ".overview", ".cluster-header"):
            expect(frame.locator(around).first).to_be_hidden()
        width = frame.locator("html").evaluate("root => root.scrollWidth - root.clientWidth")
        assert width <= 0, f"{name} is too wide"
    assert complaints == []


def test_a_frame_shows_a_chart_by_an_access_token(
    framed: Any, page: Page, hub: str, settings: Any, world: World, context: BrowserContext
) -> None:
    _allow(settings, hub)
    context.clear_cookies()
    expect(framed("progress").locator("main")).to_contain_text("Sign in to Observatory first")
    _, secret = access_tokens.make(world.people["viewer"], "jupyter", None)
    frame = framed("progress", f"?access_token={secret}")
    expect(frame.locator("html[data-ready]")).to_be_attached()
    expect(frame.locator(".panel:visible")).to_have_count(1)
    assert all(secret not in one.url for one in page.frames)


def test_another_site_cannot_frame_it(framed: Any, page: Page, hub: str, settings: Any) -> None:
    for allowed in ((), ("https://hub.example.org",)):
        if allowed:
            _allow(settings, *allowed)
        framed("progress")
        expect(page.frame_locator("iframe").locator("main")).to_have_count(0)
        assert page.frames[1].url.startswith("chrome-error:")
