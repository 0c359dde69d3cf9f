"""A hostile worker's page in the frame: what it can do in the browser of somebody who is signed in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from observatory.store.maintenance.retention import delete_cluster
from tests.browser.observatory import free_port
from tests.collect.worker_pages.conftest import store_worker
from tests.collect.worker_pages.fake_worker import FakeWorker, endless, fake_worker
from tests.support.chromium import TIMEOUT
from tests.support.projects import World
from tests.support.web_process import web_process

pytestmark = [pytest.mark.browser]

ATTACKS = """
const results = {};
const attempt = async (name, act) => {
  try { results[name] = String(await act()); } catch (error) { results[name] = `refused: ${error.name}`; }
};
const request = (path) => fetch(`${SITE}${path}`, { credentials: "include" }).then((got) => got.text());
const element = (tag, fields) => new Promise((resolve, reject) => {
  const made = Object.assign(document.createElement(tag), fields);
  made.onload = () => resolve("loaded");
  made.onerror = () => reject(new Error("blocked"));
  document.head.append(made);
});
const socket = (path) => new Promise((resolve, reject) => {
  const made = new WebSocket(`${SITE.replace("http", "ws")}${path}`);
  made.onopen = () => resolve("open");
  made.onerror = () => reject(new Error("blocked"));
});
addEventListener("load", async () => {
  await attempt("own socket", () => new Promise((resolve, reject) => {
    const made = new WebSocket(`${location.href.replace("http", "ws")}/ws`, ["bokeh", "token"]);
    made.onopen = () => made.send("of the worker");
    made.onmessage = ({ data }) => resolve(data);
    made.onerror = () => reject(new Error("own socket"));
  }));
  await attempt("origin", () => self.origin);
  await attempt("own script", () => window.ownScript);
  await attempt("read cookies", () => document.cookie);
  await attempt("set a cookie", () => { document.cookie = "sessionid=fixed; path=/"; return "set"; });
  await attempt("storage", () => localStorage.setItem("a", "b"));
  await attempt("API", () => request("/api/v1/projects"));
  await attempt("page", () => request("/clusters/"));
  await attempt("image", () => element("img", { src: `${SITE}/static/icon.png` }));
  await attempt("another's script", () => element("script", { src: `${SITE}/api/v1/openapi.json` }));
  await attempt("live socket", () => socket("/ws/clusters/1/live"));
  await attempt("page around it", () => parent.document.body.innerHTML);
  await attempt("navigate it", () => { top.location.href = "https://evil.example/"; return "navigated"; });
  await attempt("navigate it to a script", () => { top.location = "javascript:alert(1)"; return "done"; });
  await attempt("window", () => window.open(`${SITE}/account/tokens/`) === null ? "refused: null" : "opened");
  await attempt("service worker", () => navigator.serviceWorker.register("static/js/own.js"));
  await attempt("form", () => {
    const form = document.createElement("form");
    Object.assign(form, { method: "post", action: `${SITE}/sign-out/`, target: "_top" });
    document.body.append(form);
    form.submit();
    return "submitted";
  });
  await attempt("frame", () => new Promise((resolve) => {
    const frame = Object.assign(document.createElement("iframe"), { src: `${SITE}/clusters/` });
    frame.onload = () => resolve(frame.contentDocument ? "read" : "refused: not readable");
    document.body.append(frame);
    setTimeout(() => resolve("refused: not loaded"), 3000);
  }));
  document.body.dataset.results = JSON.stringify(results);
});
"""
MAY = {"own socket": "of the worker", "origin": "null", "own script": "ran"}
HARMLESS = {"form": "submitted"}
"""what scripts aren't told that it is refused"""


@pytest.fixture
def hostile() -> Iterator[FakeWorker]:
    with fake_worker() as worker:
        worker.answers["/status/ws"] = worker.echo
        worker.page("/static/js/own.js", "window.ownScript = 'ran';", Content_Type="text/javascript")
        worker.answers["/static/js/endless.js"] = endless
        worker.page("/system", "<body data-page=system>")
        yield worker


@pytest.fixture
def visitor(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1600, "height": 1000})
    context.set_default_timeout(TIMEOUT)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("sub_path", ["", "/dask"])
def test_a_workers_scripts_reach_the_worker_and_nothing_else(
    transactional_db: None,
    world: World,
    visitor: Page,
    hostile: FakeWorker,
    tmp_path: Path,
    sub_path: str,
) -> None:
    port = free_port()
    site = f"http://127.0.0.1:{port}{sub_path}"
    hostile.page(
        "/status",
        f"""<!doctype html><title>worker</title><script src="static/js/own.js"></script>
        <body>of the worker<a href="system">System</a>
        <script>const SITE = "{site}";{ATTACKS}</script></body>""",
        Set_Cookie="sessionid=fixed; Path=/",
    )
    world.target.url = "http://127.0.0.1:8787"
    world.target.save()
    worker = store_worker(world.live.pk, hostile.port)
    variables = {"OBSERVATORY_WORKER_PAGES": "127.0.0.0/8"}
    if sub_path:
        variables["OBSERVATORY_PUBLIC_URL"] = site
    name = "observatory_session" if sub_path else "sessionid"
    try:
        with web_process(tmp_path, port, **variables):
            session = world.client("viewer").cookies["sessionid"].value
            visitor.context.add_cookies(
                [{"name": name, "value": session, "domain": "127.0.0.1", "path": f"{sub_path}/"}]
            )
            url = f"{site}/clusters/{world.live.pk}/workers/{worker}/pages/"
            visitor.goto(url)
            frame = visitor.frame_locator("iframe")
            expect(frame.locator("body[data-results]")).to_be_visible()
            results = visitor.frames[1].evaluate("() => JSON.parse(document.body.dataset.results)")
            assert {name: results.pop(name) for name in MAY} == MAY
            assert {name: results.pop(name) for name in HARMLESS} == HARMLESS
            assert {n: text for n, text in results.items() if not text.startswith("refused: ")} == {}
            assert len(results) > 12
            _navigates_nothing_but_itself(visitor, url, site)
            cookies = visitor.context.cookies()
            assert [(c["name"], c["value"]) for c in cookies if c["name"] == name] == [(name, session)]
            visitor.goto(f"{site}/clusters/")
            assert "sign-in" not in visitor.url
            visitor.goto(url)
            expect(frame.locator("body[data-results]")).to_be_visible()
            frame.get_by_role("link", name="System").click()
            expect(frame.locator("body[data-page=system]")).to_be_attached()
            direct = visitor.goto(visitor.frames[1].url)
            assert direct is not None
            assert direct.status == 403, "without the frame"
        sent = [request.headers for request in hostile.requests]
        assert len(sent) > 5
        assert not any({"Cookie", "Authorization", "Referer", "Origin"} & set(headers) for headers in sent)
        log = (tmp_path / "web.log").read_text()
        assert "/worker-pages/…/status/ws" in log
        assert "gAAAA" not in log, "the start of every ticket"
        assert "viewer opens the pages of worker" in log
    finally:
        delete_cluster(world.live.pk)


def _navigates_nothing_but_itself(visitor: Page, url: str, site: str) -> None:
    """The frame's scripts navigate it: not to pages of Observatory, and to no other site."""
    for target in (f"{site}/clusters/", "https://evil.example/", f"{site}/static/x"):
        visitor.goto(url)
        expect(visitor.frame_locator("iframe").locator("body[data-results]")).to_be_visible()
        visitor.frames[1].evaluate("(url) => { setTimeout(() => { location.href = url; }, 0); }", target)
        visitor.wait_for_timeout(1000)
        assert visitor.url == url
        shown = visitor.frames[1].url
        assert shown.startswith(("chrome-error:", f"{site}/worker-pages/")), f"{target}: {shown}"
