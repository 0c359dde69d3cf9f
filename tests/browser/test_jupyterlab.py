"""A real JupyterLab with Dask's own extension, in Chromium: `%%observe`, and charts in frames over HTTPS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from observatory.pages.framed.charts import CHARTS
from tests.browser.observatory import Observatory, free_port
from tests.runtime.machine import eventually
from tests.support.chromium import TIMEOUT
from tests.support.jupyterlab import Secured, code_cell, lab, program, run_cell, secured

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(1800)]

CELLS = (
    """import time
import observatory.agent
from distributed import Client, LocalCluster
cluster = LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address="127.0.0.1:0")
client = Client(cluster)
observatory.agent.register(client, url={url!r}, token={token!r}, verify={ca!r}, name="lab")""",
    "%load_ext observatory",
    """%%observe nightly <b>etl</b>
def slow(number): time.sleep(0.25); return number
sum(client.gather(client.map(slow, range(80))))""",
    "client.close(); cluster.close()",
)


@dataclass
class Notebook:
    page: Page
    url: str
    secured: Secured

    def frame(self, chart: str) -> FrameLocator:
        """What the frame of a chart of the extension shows."""
        self.page.get_by_role("button", name=chart, exact=True).click()
        return self.page.locator(".dask-DaskDashboard-widget:visible iframe").first.content_frame


@pytest.fixture
def notebook(
    observatory: Observatory, chromium: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Notebook]:
    program()
    folder, port = tmp_path_factory.mktemp("jupyterlab"), free_port()
    with secured(observatory, folder / "nginx", f"http://localhost:{port}") as site:
        known = {"url": site.url, "token": site.ingest_token(), "ca": str(site.ca)}
        cells = (CELLS[0].format(**known), *CELLS[1:])
        variables = {
            "OBSERVATORY_URL": site.url,
            "OBSERVATORY_ACCESS_TOKEN": site.access_token(),
            "SSL_CERT_FILE": str(site.ca),
        }
        with lab(folder / "lab", port, cells, variables) as url:
            context = chromium.new_context(viewport={"width": 1600, "height": 1000}, ignore_https_errors=True)
            context.set_default_timeout(TIMEOUT)
            yield Notebook(context.new_page(), url, site)
            context.close()


def test_a_cell_shows_its_panel_then_its_card_and_the_extension_shows_charts_for_years(
    notebook: Notebook,
) -> None:
    page, site = notebook.page, notebook.secured
    site.sign_in(page)
    [session] = [cookie for cookie in page.context.cookies(site.url) if cookie["name"] == "sessionid"]
    assert (session["sameSite"], session["secure"]) == ("None", True)
    page.goto(notebook.url)
    for number in (0, 1, 2):
        run_cell(page, number)

    output = code_cell(page, 2).locator(".jp-OutputArea")
    expect(output.locator(".observatory-panel")).to_contain_text("4 of 4 busy, 2 workers")
    expect(output.locator(".observatory-panel")).to_contain_text("nightly <b>etl</b>")
    expect(output).to_contain_text("Main finding")
    expect(output.locator(".observatory-panel")).to_have_count(0)
    address = output.get_by_role("link", name="Open in Observatory").get_attribute("href")
    assert address is not None
    assert address.startswith(f"{site.url}/runs/")
    expect(output.locator("b", has_text="etl")).to_have_count(0)

    page.locator("li[title='Dask']").click()
    field = page.locator(".dask-URLInput-wrapper input")
    field.fill(f"{site.url}/clusters/{_cluster(site)}/")
    field.press("Enter")
    buttons = page.locator(".dask-DashboardListing-item button")
    expect(buttons).to_have_count(len(CHARTS))
    assert {one.title for one in CHARTS.values()} == set(buttons.all_text_contents())
    live = notebook.frame("Task Stream")
    expect(live.locator("html[data-ready]")).to_be_attached()
    expect(live.locator(".panel:visible")).to_have_count(1)

    page.get_by_role("tab", name="work.ipynb").click()
    run_cell(page, 3)
    later = page.context.new_page()
    later.goto(notebook.url)
    later.locator("li[title='Dask']").click()
    field = later.locator(".dask-URLInput-wrapper input")
    field.fill(f"{site.url}/clusters/{_ended_cluster(site)}/")
    field.press("Enter")
    ended = Notebook(later, notebook.url, site).frame("Progress")
    expect(ended.locator("html[data-ready]")).to_be_attached()
    expect(ended.locator("main")).to_contain_text("slow")


def test_a_frame_over_https_needs_a_session_or_an_access_token(notebook: Notebook) -> None:
    page, site = notebook.page, notebook.secured
    page.goto(notebook.url)
    for number in (0, 1):
        run_cell(page, number)
    cluster = _cluster(site)
    page.locator("li[title='Dask']").click()
    field = page.locator(".dask-URLInput-wrapper input")
    field.fill(f"{site.url}/clusters/{cluster}/")
    field.press("Enter")
    expect(notebook.frame("Progress").locator("main")).to_contain_text("Sign in to Observatory first")
    secret = site.access_token()
    field.fill(f"{site.url}/clusters/{cluster}/?access_token={secret}")
    field.press("Enter")
    page.locator(".jp-DocumentSearch-dummy, .lm-TabBar-tabCloseIcon:visible").last.click()
    frame = notebook.frame("Workers")
    expect(frame.locator("html[data-ready]")).to_be_attached()
    expect(frame.locator(".panel:visible")).to_have_count(1)


def _cluster(site: Secured) -> int:
    query = "SELECT coalesce(max(id), 0) FROM clusters_cluster WHERE name = 'lab'"
    eventually(lambda: int(str(site.observatory.query(query))), "the agent reported its cluster")
    return int(str(site.observatory.query(query)))


def _ended_cluster(site: Secured) -> int:
    def ended() -> bool:
        return bool(site.observatory.query("SELECT count(*) FROM clusters_cluster WHERE ended IS NOT NULL"))

    eventually(ended, "the cluster has ended")
    return _cluster(site)
