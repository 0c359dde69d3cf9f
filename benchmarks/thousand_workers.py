"""CPU time of a collector that scrapes 1,000 workers every 5 s. Limit: half a core.

A real scheduler and worker are recorded, then simulated with WORKERS workers by another process: first idle,
then busy, when identity.json fails and the page of workers replaces it. A complete Observatory watches them.
Measures over SECONDS the CPU time of the collector's process, including its threads, and the share of due
scrapes that are stored.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.measuring.processor import cpu_seconds  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.simulated.recording import record  # noqa: E402
from tests.browser.observatory import Observatory  # noqa: E402

WORKERS, SECONDS = int(os.environ.get("WORKERS", "1000")), float(os.environ.get("DURATION", "60"))
INTERVAL = 5.0
SETTLING = 40.0
"""seconds until all workers are known and scraped, and static files are compressed"""
CPU_LIMIT, STORED_LIMIT = 0.5, 0.95

WATCH = """
from observatory.clusters.models import Project, Target
Target.objects.update(enabled=False)
Target.objects.create(project=Project.objects.get(slug="default"), name={name!r}, url={url!r},
                      metrics_interval={interval}, series_limit={workers} * 100)
"""
STORED = """
WITH scrape AS (
    SELECT time, time - lag(time) OVER (PARTITION BY series_id ORDER BY time) AS gap
    FROM sample JOIN series ON series.id = series_id
    WHERE metric = 'dask_worker_threads' AND series.cluster_id = (SELECT max(id) FROM clusters_cluster))
SELECT (SELECT count(*) FROM scrape WHERE {window}),
       (SELECT extract(epoch FROM max(gap))::float8 FROM scrape WHERE {window}),
       (SELECT count(*) FROM sample WHERE {window})
"""


@contextmanager
def simulated(recording: Path, *options: str) -> Iterator[str]:
    """Run a simulated scheduler; yields its address."""
    command = [sys.executable, "-m", "benchmarks.simulated.cluster", str(recording), str(WORKERS), *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def measure(server: Observatory, name: str, url: str) -> dict[str, Any]:
    server.manage("shell", "-c", WATCH.format(name=name, url=url, interval=INTERVAL, workers=WORKERS))
    time.sleep(SETTLING)
    collector, postgres = server.child("observatory collector"), server.child("postgres")
    first, before = time.time(), (cpu_seconds(collector), cpu_seconds(postgres))
    time.sleep(SECONDS)
    last, after = time.time(), (cpu_seconds(collector), cpu_seconds(postgres))
    time.sleep(2 * INTERVAL)
    window = f"time >= to_timestamp({first}) AND time < to_timestamp({last})"
    [(scrapes, longest, samples)] = server.rows(STORED.format(window=window))
    return {
        "cores": round((after[0] - before[0]) / (last - first), 3),
        "postgresql_cores": round((after[1] - before[1]) / (last - first), 3),
        "scrapes_per_second": round(scrapes / (last - first), 1),
        "scraped": round(scrapes / (WORKERS * (last - first) / INTERVAL), 3),
        "longest_seconds_between_scrapes": round(longest or 0.0, 1),
        "samples_per_second": round(samples / (last - first)),
        "load": os.getloadavg()[0],
    }


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="observatory-benchmark-"))
    recording = folder / "recording.json"
    recording.write_text(json.dumps(asdict(record())))
    server = Observatory(folder / "data")
    try:
        server.start()
        found = {}
        for name, options in (("idle", []), ("busy", ["--busy"])):
            with simulated(recording, *options) as url:
                found[name] = measure(server, name, url)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    results = []
    for name, measured in found.items():
        what = f"scraping {WORKERS:,} workers of a cluster every {INTERVAL:g} s ({name})"
        results.append(Result(f"{what}: CPU time of the collector", "1 core", measured["cores"], CPU_LIMIT))
        results.append(
            Result(f"{what}: scrapes stored", "due scrapes", measured["scraped"], STORED_LIMIT, True)
        )
    return print_results(
        "thousand_workers", results, ("aiohttp", "distributed"), seconds=SECONDS, measured=found
    )


if __name__ == "__main__":
    sys.exit(main())
