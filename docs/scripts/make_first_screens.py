"""Takes docs/pictures/first/: first screens of 4 threads, 64 threads and 1,000 workers (`make pictures`).

The first two are of real clusters with the agent; the third is a synthetic recording. Each is taken light,
dark, and on a phone.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from random import Random
from typing import Any, Literal

from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from recorded_demo import ROOT, note_charts, show

import observatory.agent
from benchmarks.measuring.server import evaluated, new_observatory
from tests.browser.observatory import Observatory
from tests.support.chromium import ARGUMENTS, NAMES, TIMEOUT

FOLDER = ROOT / "docs/pictures/first"
SCREENS = {"light": (1600, 1000), "dark": (1600, 1000), "phone": (390, 844)}
"""width and height in pixels"""
QUALITY = 70
PLAYHEAD = 0.66
"""share of the run"""
NAME = "nightly etl"
TASKS = """
import time

def load(seconds):
    time.sleep(seconds)
    return bytes(1_000_000)

def add(*parts):
    time.sleep(0.15)
    return sum(map(len, parts))
"""
"""compiled as a file of this name, which pages show: that of this script differs on each machine"""
FILE = "etl.py"
SYNTHETIC = f"""
import itertools, time
from observatory.clusters.models import Cluster, Project
from observatory.runs.models import Run
from observatory.runs.refresh import refresh_figures
from observatory.store.ingest.writer import Writer
from observatory.store.times import from_seconds
from benchmarks.runs.synthetic import Shape, batches
shape = Shape("1,000 workers", workers=1000, tasks=60_000, seconds=120.0, prefixes=6, slice=10.0)
start = time.time() - 600
cluster = Cluster.objects.create(
    project=Project.objects.get(slug="default"), scheduler_id="synthetic", name=shape.name,
    started=from_seconds(start), last_seen=from_seconds(start), identity_interval=shape.step)
with Writer() as writer:
    for batch in itertools.takewhile(
        lambda one: one.committed <= start + shape.seconds, batches(shape, cluster.pk, start)
    ):
        committed = writer.write(batch)
stop = from_seconds(committed.extent.last)
Cluster.objects.filter(pk=cluster.pk).update(ended=stop)
Run.objects.create(
    cluster=cluster, name={NAME!r}, start=from_seconds(start), stop=stop, origin=Run.Origin.CUT)
for run in Run.objects.filter(cluster=cluster):
    refresh_figures(run)
"""
SESSION = """
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
user = User.objects.get(is_superuser=True)
user.set_password("of this script's data folder alone")
user.save()
client = Client()
client.force_login(user)
print(settings.SESSION_COOKIE_NAME, client.cookies[settings.SESSION_COOKIE_NAME].value)
"""
"""of somebody with a password: else each page says that there is none"""
RUNS = """
from observatory.runs.models import Run
print(" ".join(f"{run.cluster.name.replace(' ', '-').replace(',', '')}={run.pk}" for run in
    Run.objects.exclude(origin="activity").select_related("cluster")))
"""


def record(server: Observatory, token: str, workers: int, threads: int) -> None:
    """Run tasks of two prefixes, one of which straggles, on a real cluster."""
    from distributed import Client, LocalCluster, wait

    tasks: dict[str, Any] = {}
    exec(compile(TASKS, FILE, "exec"), tasks)
    chosen = Random(1)
    lanes = workers * threads
    options = {"n_workers": workers, "threads_per_worker": threads, "memory_limit": "1GiB"}
    with (
        LocalCluster(
            **options, processes=lanes <= 8, dashboard_address="127.0.0.1:0", silence_logs="CRITICAL"
        ) as cluster,
        Client(cluster) as client,
    ):
        name = f"{lanes} threads"
        observatory.agent.register(client, url=server.url, token=token, name=name, flush_interval="1s")
        time.sleep(3)
        with observatory.run(NAME):
            durations = [chosen.uniform(0.2, 0.6) for _ in range(lanes * 20)]
            durations[lanes * 12] = 4.0
            loaded = client.map(tasks["load"], durations, pure=False)
            sums = [
                client.submit(tasks["add"], *loaded[at : at + 4], pure=False)
                for at in range(0, len(loaded), 4)
            ]
            wait(sums)
            time.sleep(1)
        time.sleep(3)


@contextmanager
def recorded_runs() -> Iterator[tuple[Observatory, dict[str, int]]]:
    """Yield an Observatory, and the ids of its runs by the names of their pictures."""
    with new_observatory() as (server, token):
        for workers, threads in ((2, 2), (8, 8)):
            record(server, token, workers, threads)
        server.manage("shell", "-v", "0", "-c", SYNTHETIC)
        found = evaluated(server, RUNS).split()
        yield server, {name: int(run) for name, _, run in (each.partition("=") for each in found)}


def take(browser: Browser, server: Observatory, runs: dict[str, int]) -> None:
    cookie, session = evaluated(server, SESSION).split()
    for screen, (width, height) in SCREENS.items():
        theme: Literal["dark", "light"] = "dark" if screen == "dark" else "light"
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
        context.set_default_timeout(TIMEOUT)
        context.add_cookies([{"name": cookie, "value": session, "url": server.url}])
        page = context.new_page()
        for name, run in runs.items():
            show(page, f"{server.url}/runs/{run}/", PLAYHEAD)
            picture = FOLDER / f"{name}-{screen}.webp"
            with Image.open(BytesIO(page.screenshot())) as image:
                image.convert("RGB").save(picture, "WEBP", quality=QUALITY, method=6)
            note_charts(page, picture)
        context.close()


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    executable = next(found for name in NAMES if (found := shutil.which(name)))
    with recorded_runs() as (server, runs), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        take(browser, server, runs)
        browser.close()


if __name__ == "__main__":
    main()
