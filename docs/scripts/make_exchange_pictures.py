"""Takes the pictures of docs/ci.md and docs/exchange.md (`make exchange-pictures`): the comment of a check,
an imported performance report, and a trace that is attached to it."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
import tempfile
import time
from io import BytesIO
from pathlib import Path

import markdown
from distributed import Client, LocalCluster
from make_pictures import scroll_to
from PIL import Image
from playwright.sync_api import Page, sync_playwright
from recorded_demo import LOADED, ROOT, SETTLING

import observatory
from tests.browser.observatory import Observatory
from tests.support.chromium import ARGUMENTS, NAMES, TIMEOUT

WIDTH, HEIGHT = 1200, 800
"""pixels"""
QUALITY = 70
PICTURES = ROOT / "docs/pictures"
FILES = ROOT / "tests/exchange"
REPORT, TRACE = FILES / "reports/2025.7.0.html.gz", FILES / "profiles/py-spy-chrometrace.json.gz"
RUNS = 5
TASKS = 60
SIGNS = {"❌": "✗", "✅": "✓", "❔": "?", "➖": "–"}
PAGE = """<!doctype html><style>
  body {{ font: 15px/1.5 system-ui, sans-serif; margin: 0; padding: 16px; width: 860px }}
  td, th {{ border: 1px solid #d0d7de; padding: 5px 12px; text-align: left }}
  table {{ border-collapse: collapse }}
</style>{}"""
"""about as GitHub shows comments"""


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="observatory-pictures-"))
    comment = checked(folder)
    server = Observatory(folder / "data")
    server.start()
    try:
        run = imported(server, folder)
        with sync_playwright() as playwright:
            executable = next(found for name in NAMES if (found := shutil.which(name)))
            browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.set_default_timeout(TIMEOUT)
            page.set_content(PAGE.format(comment))
            save(page.locator("body").screenshot(), "check")
            server.sign_in(page)
            take(page, f"{server.url}{run}", "performance-report")
            take(page, f"{server.url}{run}?tab=profile", "attached-trace", below="task-stream")
            browser.close()
    finally:
        server.stop()


def checked(folder: Path) -> str:
    """The comment about a run in which the tasks of one prefix take longer, as HTML."""
    bundles = [folder / f"{number}.observatory.zip" for number in range(RUNS)]
    workers = {"n_workers": 2, "threads_per_worker": 4, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**workers) as cluster, Client(cluster) as client:
        for path in bundles:
            with observatory.run("etl", to=path):
                work(client, 1.4 if path == bundles[-1] else 1.0)
    *usual, newest = map(str, bundles)
    against = [f"--against={path}" for path in usual]
    written = folder / "check.md"
    command = [sys.executable, "-m", "observatory", "check", newest, *against, f"--markdown={written}"]
    subprocess.run(command, cwd=ROOT, check=False)  # it exits with what it found
    return as_html(written.read_text())


def as_html(comment: str) -> str:
    """Signs that need a font of emoji are written with others."""
    for emoji, sign in SIGNS.items():
        comment = comment.replace(emoji, sign)
    return markdown.markdown(comment, extensions=["tables"])


def work(client: Client, factor: float) -> None:
    def load(number: int) -> int:
        time.sleep(0.05)
        return number

    def join(number: int) -> int:
        time.sleep(0.1 * factor)
        return number

    client.gather(client.map(join, client.map(load, range(TASKS), pure=False), pure=False))


def imported(server: Observatory, folder: Path) -> str:
    """The path of the page of a run that was a performance report, with a trace."""
    report = folder / "report.html"
    report.write_bytes(gzip.decompress(REPORT.read_bytes()))
    path = server.manage("import", str(report)).strip().splitlines()[-1]
    server.manage("attach", str(TRACE), "--run", path.strip("/").split("/")[-1])
    return path


def take(page: Page, address: str, name: str, below: str = "") -> None:
    """`below`: the chart that is scrolled to below the overview."""
    page.goto(address)
    page.wait_for_selector("html[data-ready]", state="attached")
    page.wait_for_function(LOADED)
    if below:
        scroll_to(page, below)
    page.wait_for_timeout(SETTLING)
    save(page.screenshot(), name)


def save(screenshot: bytes, name: str) -> None:
    with Image.open(BytesIO(screenshot)) as picture:
        picture.convert("RGB").save(PICTURES / f"{name}.webp", quality=QUALITY)


if __name__ == "__main__":
    main()
