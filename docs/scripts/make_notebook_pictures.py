"""Takes the pictures of docs/notebook.md in a real JupyterLab with Dask's extension, which
`make notebook-pictures` needs (tests/support/jupyterlab.py)."""

from __future__ import annotations

import shutil
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, Page, sync_playwright
from recorded_demo import ROOT

from tests.browser.observatory import Observatory, free_port
from tests.support.chromium import ARGUMENTS, NAMES, TIMEOUT
from tests.support.jupyterlab import ACCESS_TOKEN, code_cell, lab, run_cell

WIDTH, HEIGHT = 1280, 800
"""pixels"""
QUALITY = 70
FRAME, LAST_FRAME = 500, 4_000
"""milliseconds"""
SAVE = "[data-command='docmanager:save']"
LONGEST = 40
"""frames"""
SETTLING = 3_000
"""milliseconds"""
OBSERVED, SHOWN = 2, (3, 6)
"""numbers of cells"""
PICTURES = ROOT / "docs/pictures"
CELLS = (
    """import os, time
import observatory.agent
from distributed import Client, LocalCluster

cluster = LocalCluster(n_workers=3, threads_per_worker=2, dashboard_address="127.0.0.1:0")
client = Client(cluster)
observatory.agent.register(client, url={url!r}, token={token!r}, name="analysis")""",
    "%load_ext observatory",
    """%%observe nightly etl
def load(number):
    time.sleep(0.25)
    return [number] * 100_000

def clean(values):
    time.sleep(4 if values[0] == 17 else 0.15)
    return sum(values)

sum(client.gather(client.map(clean, client.map(load, range(96)))))""",
    """from observatory.client import ObservatoryClient
runs = ObservatoryClient(os.environ["OBSERVATORY_URL"], os.environ["OBSERVATORY_ACCESS_TOKEN"])
newest = runs.run(runs.runs(order="-start").iloc[0])
runs.findings(newest)""",
    "runs.cluster(newest['cluster']['id'])",
    """with observatory.run("nightly etl"):
    client.gather(client.map(lambda number: time.sleep(0.2), range(60), pure=False))""",
    """time.sleep(20)  # until the run is there
runs.run(runs.runs(order="-start").iloc[0]).compare(newest)""",
)


def main() -> None:
    folder, port = Path(tempfile.mkdtemp(prefix="observatory-pictures-")), free_port()
    observatory = Observatory(folder / "data")
    observatory.environment["OBSERVATORY_FRAME_ANCESTORS"] = f"http://localhost:{port}"
    observatory.start()
    access = observatory.manage("shell", "-v", "0", "-c", ACCESS_TOKEN).splitlines()[-1]
    known = {
        "url": observatory.url,
        "token": observatory.manage("ingest_token", "default").strip(),
    }
    variables = {"OBSERVATORY_URL": observatory.url, "OBSERVATORY_ACCESS_TOKEN": access}
    cells = [cell.format(**known) if "{url" in cell else cell for cell in CELLS]
    try:
        with lab(folder / "lab", port, cells, variables) as url, sync_playwright() as playwright:
            executable = next(found for name in NAMES if (found := shutil.which(name)))
            browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
            context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
            page = context.new_page()
            page.set_default_timeout(TIMEOUT)
            page.goto(url)
            take_film(page)
            run_others(page)
            page.locator(SAVE).first.click()
            page.wait_for_timeout(SETTLING)
            site = observatory.url.replace("127.0.0.1", "localhost")  # that of JupyterLab
            cluster = observatory.query("SELECT max(id) FROM clusters_cluster WHERE name = 'analysis'")
            take_extension(page, f"{site}/clusters/{cluster}/?access_token={access}")
            observatory.stop()
            take_saved(page, url)
            browser.close()
    finally:
        observatory.stop()


def take_film(page: Page) -> None:
    """The observed cell, from its begin until its card is there."""
    for number in range(3):
        run_cell(page, number)
    output = code_cell(page, OBSERVED)
    output.locator(".observatory-panel").wait_for()
    output.scroll_into_view_if_needed()
    frames = []
    while len(frames) < LONGEST and not output.get_by_text("Main finding").count():
        frames.append(shot(output))
        page.wait_for_timeout(FRAME)
    output.get_by_text("Main finding").wait_for()
    frames.append(shot(output))
    size = (max(frame.width for frame in frames), max(frame.height for frame in frames))
    first, *others = (padded(frame, size) for frame in frames)
    durations = [FRAME] * len(others) + [LAST_FRAME]
    first.save(
        PICTURES / "observed-cell.webp",
        save_all=True,
        append_images=others,
        duration=durations,
        loop=0,
        quality=QUALITY,
    )


def run_others(page: Page) -> None:
    for number in range(OBSERVED + 1, len(CELLS)):
        run_cell(page, number)
    last = code_cell(page, len(CELLS) - 1)
    last.get_by_text("Open in Observatory").wait_for()


def take_extension(page: Page, address: str) -> None:
    """A chart that Dask's extension shows."""
    page.locator("li[title='Dask']").click()
    field = page.locator(".dask-URLInput-wrapper input")
    field.fill(address)
    field.press("Enter")
    page.get_by_role("button", name="Task Stream", exact=True).click()
    frame = page.locator(".dask-DaskDashboard-widget:visible iframe").first.content_frame
    frame.locator("html[data-ready]").wait_for(state="attached")
    page.wait_for_timeout(SETTLING)
    with Image.open(BytesIO(page.screenshot())) as picture:
        save(picture.convert("RGB"), "jupyterlab")


def take_saved(page: Page, url: str) -> None:
    """The saved notebook, dark, without the server."""
    page = page.context.new_page()
    page.set_default_timeout(TIMEOUT)
    page.emulate_media(color_scheme="dark")
    page.goto(url)
    page.wait_for_timeout(2 * SETTLING)
    outputs = [code_cell(page, number) for number in (OBSERVED, *SHOWN)]
    outputs[0].get_by_text("Main finding").wait_for()
    save(stacked([shot(output) for output in outputs]), "saved-notebook")


def shot(cell: Locator) -> Image.Image:
    cell.scroll_into_view_if_needed()
    with Image.open(BytesIO(cell.screenshot())) as picture:
        return picture.convert("RGB")


def padded(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    """The picture on its own background."""
    whole = Image.new("RGB", size, picture.getpixel((0, 0)))
    whole.paste(picture, (0, 0))
    return whole


def stacked(pictures: list[Image.Image]) -> Image.Image:
    whole = Image.new(
        "RGB",
        (max(each.width for each in pictures), sum(each.height for each in pictures)),
        pictures[0].getpixel((0, 0)),
    )
    top = 0
    for each in pictures:
        whole.paste(each, (0, top))
        top += each.height
    return whole


def save(picture: Image.Image, name: str) -> None:
    picture.save(PICTURES / f"{name}.webp", quality=QUALITY)


if __name__ == "__main__":
    main()
