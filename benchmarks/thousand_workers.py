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
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.simulated.recording import record  # noqa: E402
from benchmarks.simulated.scraping import INTERVAL, measure, simulated  # noqa: E402
from tests.browser.observatory import Observatory  # noqa: E402

WORKERS, SECONDS = int(os.environ.get("WORKERS", "1000")), float(os.environ.get("DURATION", "60"))
SETTLING = 40.0
"""seconds until all workers are known and scraped, and static files are compressed"""
CPU_LIMIT, STORED_LIMIT = 0.5, 0.95


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="observatory-benchmark-"))
    recording = folder / "recording.json"
    recording.write_text(json.dumps(asdict(record())))
    server = Observatory(folder / "data")
    try:
        server.start()
        found = {}
        for name, options in (("idle", []), ("busy", ["--busy"])):
            with simulated(recording, WORKERS, 1, *options) as urls:
                found[name] = measure(server, name, urls, WORKERS, SETTLING, SECONDS)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    results = []
    for name, measured in found.items():
        what = f"scraping {WORKERS:,} workers of a cluster every {INTERVAL:g} s ({name})"
        results.append(
            Result(f"{what}: CPU time of the collector", "1 core", measured["cores"]["collector"], CPU_LIMIT)
        )
        results.append(
            Result(f"{what}: scrapes stored", "due scrapes", measured["scraped"], STORED_LIMIT, True)
        )
    return print_results(
        "thousand_workers", results, ("aiohttp", "distributed"), seconds=SECONDS, measured=found
    )


if __name__ == "__main__":
    sys.exit(main())
