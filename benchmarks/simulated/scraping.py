"""What it takes to scrape simulated clusters: they are served, watched, and measured."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from benchmarks.measuring.processor import cpu_seconds
from tests.browser.observatory import Observatory

SIMULATION = "benchmarks.simulated.cluster"
PROGRAMS = {
    "collector": "observatory collector",
    "postgresql": "postgres",
    "worker": "observatory worker",
    "alerts": "observatory alerts",
    "web": "observatory web",
}
"""of an Observatory, by their titles: what a cluster costs in all"""
ROOT = Path(__file__).resolve().parent.parent.parent
INTERVAL = 5.0
"""seconds between two scrapes of a worker, unless a load has another"""
POLL = 1.0
"""seconds between two requests for a scheduler's list of workers, likewise"""
STOP = "from observatory.clusters.models import Target; Target.objects.all().delete()"
STOPPING = 10.0
"""seconds until clusters of deleted targets are ended"""
WATCH = """
from observatory.clusters.models import Project, Target
Target.objects.all().delete()  # a further simulation can have the same port
project = Project.objects.get(slug="default")
for number, url in enumerate({urls!r}):
    Target.objects.create(project=project, name="{name} %d" % number, url=url, metrics_interval={interval},
                          identity_interval={poll}, series_limit={workers} * 100)
"""
STORED = """
WITH scrape AS (
    SELECT time, time - lag(time) OVER (PARTITION BY series_id ORDER BY time) AS gap
    FROM sample JOIN series ON series.id = series_id
    WHERE metric = 'dask_worker_threads'
      AND series.cluster_id IN (
          SELECT cluster.id FROM clusters_cluster cluster
          JOIN clusters_project project ON project.id = cluster.project_id
          WHERE NOT project.is_own ORDER BY cluster.id DESC LIMIT {clusters}))
SELECT (SELECT count(*) FROM scrape WHERE {window}),
       (SELECT extract(epoch FROM max(gap))::float8 FROM scrape WHERE {window}),
       (SELECT count(*) FROM sample WHERE {window})
"""


@contextmanager
def simulated(recording: Path, workers: int, schedulers: int = 1, *options: str) -> Iterator[list[str]]:
    """Run simulated schedulers with `workers` workers each; yields their addresses."""
    command = [sys.executable, "-m", SIMULATION, str(recording), str(workers)]
    command += ["--schedulers", str(schedulers), *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield [process.stdout.readline().strip() for _ in range(schedulers)]
    finally:
        process.kill()
        process.wait()


def stop_watching(server: Observatory) -> None:
    """End the observation, so that another program can be measured."""
    server.manage(
        "shell", "-c", "from observatory.clusters.models import Target; Target.objects.all().delete()"
    )
    time.sleep(STOPPING)


def measure(
    server: Observatory,
    name: str,
    urls: Sequence[str],
    workers: int,
    settling: float,
    seconds: float,
    interval: float = INTERVAL,
    poll: float = POLL,
) -> dict[str, Any]:
    """Watch schedulers with `workers` workers each, and measure for `seconds` after `settling` seconds."""
    server.manage(
        "shell", "-c", WATCH.format(name=name, urls=list(urls), interval=interval, poll=poll, workers=workers)
    )
    time.sleep(settling)
    programs = {name: server.child(title) for name, title in PROGRAMS.items()}
    [simulation] = [child for child in psutil.Process().children() if SIMULATION in child.cmdline()]
    programs["simulation"] = simulation
    first, before = time.time(), {name: cpu_seconds(process) for name, process in programs.items()}
    time.sleep(seconds)
    last, after = time.time(), {name: cpu_seconds(process) for name, process in programs.items()}
    cores = {name: round((after[name] - before[name]) / (last - first), 3) for name in programs}
    time.sleep(2 * interval)
    window = f"time >= to_timestamp({first}) AND time < to_timestamp({last})"
    [(scrapes, longest, samples)] = server.rows(STORED.format(window=window, clusters=len(urls)))
    due = workers * len(urls) * (last - first) / interval
    return {
        "cores": cores,
        "ms_a_second_per_cluster": round(1e3 * sum(cores[name] for name in PROGRAMS) / len(urls), 2),
        "scrapes_per_second": round(scrapes / (last - first), 1),
        "scraped": round(scrapes / due, 3),
        "longest_seconds_between_scrapes": round(longest or 0.0, 1),
        "samples_per_second": round(samples / (last - first)),
        "load": os.getloadavg()[0],
    }
