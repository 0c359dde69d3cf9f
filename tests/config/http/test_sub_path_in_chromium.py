"""A site below a path, behind nginx: all that a browser requests is below it."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from observatory.runs.models import Permalink, Run
from observatory.runs.sharing.links import make_link
from tests.browser.observatory import free_port
from tests.pages.conftest import recorded
from tests.support.chromium import TIMEOUT
from tests.support.nginx import in_front
from tests.support.projects import World
from tests.support.recorded_cluster import Recorded, at
from tests.support.web_process import web_process

__all__ = ["recorded"]

READY = "() => document.documentElement.dataset.ready === '1'"
PASSWORD = "of-the-superuser"
LOCATION = """
    location /dask/ {
        proxy_pass http://127.0.0.1:%d;
        proxy_http_version 1.1;
        proxy_set_header Host $http_host;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection $http_connection;
    }"""


@contextmanager
def site(folder: Path) -> Iterator[tuple[str, str]]:
    """The addresses of an Observatory at /dask/ of nginx, and of its web process."""
    front, behind = free_port(), free_port()
    public = f"http://127.0.0.1:{front}/dask"
    with (
        web_process(folder, behind, OBSERVATORY_PUBLIC_URL=public) as own,
        in_front(folder, front, LOCATION % behind),
    ):
        yield public, own


@pytest.fixture
def visitor(chromium: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A page, and the addresses of all that it requests and connects to."""
    context = chromium.new_context(viewport={"width": 1600, "height": 1000})
    context.set_default_timeout(TIMEOUT)
    page = context.new_page()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.on("websocket", lambda socket: requested.append(socket.url))
    yield page, requested
    context.close()


@pytest.mark.browser
def test_a_browser_requests_nothing_outside_of_the_sub_path(
    world: World, recorded: Recorded, visitor: tuple[Page, list[str]], tmp_path: Path
) -> None:
    page, requested = visitor
    superuser = world.people["superuser"]
    superuser.set_password(PASSWORD)
    superuser.save()
    worker = "tcp://10.0.0.1:4000"
    recorded.worker(worker, "w0")
    for second in range(20):
        recorded.span(f"load-{second}", worker, second, second + 0.8)
    world.ended.started, world.ended.ended, world.ended.last_seen = at(-60), None, at(60)
    world.ended.save()
    run = Run.objects.create(cluster=world.ended, name="nightly", origin="cut", start=at(0), stop=at(10))
    token = make_link(Permalink(run=run, audience=Permalink.Audience.ANYONE), superuser).token
    with site(tmp_path) as (public, own):
        page.goto(f"{public}/")
        page.wait_for_url(f"{public}/sign-in/?next=/dask/")
        page.get_by_label("Username").fill(superuser.username)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{public}/clusters/**")
        with page.expect_websocket():
            page.get_by_role("link", name="evening").first.click()
        page.wait_for_function(READY)
        page.goto(f"{public}/admin/clusters/target/")
        page.get_by_role("link", name="analysis").click()
        page.wait_for_url("**/change/**")
        page.get_by_role("link", name="Back to the Observatory").click()
        page.wait_for_url(f"{public}/clusters/**")
        assert {cookie["path"] for cookie in page.context.cookies()} == {"/dask/"}
        page.context.clear_cookies()
        page.goto(f"{public}/r/{token}")
        page.wait_for_function(READY)
        with urllib.request.urlopen(f"{own}/sign-in/") as answer:  # a proxy took the sub-path off
            links = re.findall(r'(?:href|src|action)="([^"]*)"', answer.read().decode())
    assert len(links) > 5
    assert [link for link in links if not link.startswith(("/dask/", "#"))] == []
    allowed = (f"{public}/", f"{public}/".replace("http", "ws", 1), "data:")
    assert [url for url in requested if not url.startswith(allowed)] == []
    for part in (
        "/static/",
        "/api/v1/clusters/",
        "/tiles",
        "/ws/clusters/",
        f"/api/v1/r/{token}",
        "/admin/",
    ):
        assert any(part in url for url in requested), part
