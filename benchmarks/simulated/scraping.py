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

from benchmarks.measuring.processor import cpu_seconds
from tests.browser.observatory import Observatory

ROOT = Path(__file__).resolve().parent.parent.parent
INTERVAL = 5.0
"""seconds between two scrapes of a worker, unless a load has another"""
POLL = 1.0
"""seconds between two requests for a scheduler's list of workers, likewise"""
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
    command = [sys.executable, "-m", "benchmarks.simulated.cluster", str(recording), str(workers)]
    command += ["--schedulers", str(schedulers), *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield [process.stdout.readline().strip() for _ in range(schedulers)]
    finally:
        process.kill()
        process.wait()


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
    collector, postgres = server.child("observatory collector"), server.child("postgres")
    first, before = time.time(), (cpu_seconds(collector), cpu_seconds(postgres))
    time.sleep(seconds)
    last, after = time.time(), (cpu_seconds(collector), cpu_seconds(postgres))
    time.sleep(2 * interval)
    window = f"time >= to_timestamp({first}) AND time < to_timestamp({last})"
    [(scrapes, longest, samples)] = server.rows(STORED.format(window=window, clusters=len(urls)))
    due = workers * len(urls) * (last - first) / interval
    return {
        "cores": round((after[0] - before[0]) / (last - first), 3),
        "postgresql_cores": round((after[1] - before[1]) / (last - first), 3),
        "scrapes_per_second": round(scrapes / (last - first), 1),
        "scraped": round(scrapes / due, 3),
        "longest_seconds_between_scrapes": round(longest or 0.0, 1),
        "samples_per_second": round(samples / (last - first)),
        "load": os.getloadavg()[0],
    }
