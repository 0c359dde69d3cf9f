"""Up to which size one collector keeps its pace: clusters of more workers, and more clusters.

A real scheduler and worker are recorded, then simulated by another process on this machine: one cluster of
each number of SIZES, then as many clusters of 4 workers as each number of CLUSTERS, and as many idle ones as
each number of IDLE, whose workers run no tasks. A complete Observatory watches them, and then Debian's
Prometheus, where it is installed (`apt install prometheus`). Each worker is due every 5 s, and each scheduler
every second; Observatory asks idle ones less often (collector/cluster_rest.py). In SIZES, 10000/20 are 10,000
workers every 20 s; in CLUSTERS, 1000/10 are 1,000 schedulers and their workers every 10 s, and 1000/10/540
are measured 540 s after all began, not two minutes and a half. Measures over DURATION seconds the CPU time of
each program, of the simulation too, and the share of due scrapes that are stored: it stays at 1 until
something has no time left.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measuring.results import Result, print_results
from benchmarks.simulated.prometheus_peer import seconds_per_scrape
from benchmarks.simulated.recording import record
from benchmarks.simulated.scraping import INTERVAL, POLL, measure, simulated, stop_watching
from tests.browser.observatory import Observatory

SIZES = os.environ.get("SIZES", "1000,2500,5000,10000,10000/20")
CLUSTERS = os.environ.get("CLUSTERS", "100,300,300/5,1000/10,1000/10/540")
IDLE = os.environ.get("IDLE", "50")
SECONDS = float(os.environ.get("DURATION", "60"))
SETTLING = 40.0
"""seconds until a thousand workers are known and scraped"""


@dataclass(frozen=True, slots=True)
class Load:
    """What is simulated: `schedulers` clusters that run `tasks` tasks a second each."""

    what: str
    workers: int
    schedulers: int
    tasks: int
    interval: float = INTERVAL
    poll: float = POLL
    began: float | None = None
    """seconds before it is measured; None: as many as it needs to be found and begun"""

    @property
    def settling(self) -> float:
        if self.began is not None:
            return self.began
        return SETTLING * max(1.0, self.workers * self.schedulers / 1000)

    def results(self, measured: dict[str, Any]) -> Iterator[Result]:
        polled = f" and asked every {self.poll:g} s" if self.poll != POLL else ""
        name = f"{self.what}, scraped every {self.interval:g} s{polled}"
        yield Result(f"{name}: scrapes stored", "due scrapes", measured["scraped"])
        cores, peer = measured["cores"], measured["prometheus"]
        yield Result(f"{name}: CPU time of the collector", "1 core", cores["collector"])
        yield Result(f"{name}: CPU time of PostgreSQL", "1 core", cores["postgresql"])
        yield Result(f"{name}: CPU time of the simulation", "1 core", cores["simulation"])
        if self.schedulers > 1:
            what = f"{name}: CPU time of all programs of Observatory per cluster (ms a second)"
            yield Result(what, "–", measured["ms_a_second_per_cluster"])
        if peer is not None and measured["scrapes_per_second"]:
            scrapes = measured["scrapes_per_second"] * (1 + 1 / self.workers)
            for programs in (["collector"], ["collector", "postgresql"]):
                ratio = sum(cores[program] for program in programs) / scrapes / peer["cpu"]
                what = f"{name}: CPU time a scrape, of {' and '.join(programs)}"
                yield Result(what, "Prometheus", round(ratio, 2))


def loads() -> Iterator[Load]:
    for size in filter(None, SIZES.split(",")):
        workers, _, interval = size.partition("/")
        what = f"a cluster of {int(workers):,} workers"
        yield Load(what, int(workers), 1, 100, float(interval or INTERVAL))
    for number in filter(None, CLUSTERS.split(",")):
        clusters, poll, began, *_ = (*number.split("/"), "", "")
        what = f"{int(clusters):,} clusters of 4 workers"
        what += f", {int(began)} s after they began" if began else ""
        seconds = float(poll or POLL)
        longest = max(INTERVAL, seconds)
        yield Load(what, 4, int(clusters), 1, longest, seconds, float(began) if began else None)
    for number in filter(None, IDLE.split(",")):
        yield Load(f"{int(number):,} idle clusters of 4 workers", 4, int(number), 0)


def recorded(folder: Path, is_idle: bool) -> Path:
    """The file with the answers of a real cluster, which is made when it is first needed."""
    path = folder / ("idle.json" if is_idle else "busy.json")
    if not path.exists():
        path.write_text(json.dumps(asdict(record(is_idle))))
    return path


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="observatory-benchmark-"))
    server = Observatory(folder / "data")
    results: list[Result] = []
    try:
        server.start()
        for load in loads():
            recording = recorded(folder, is_idle=not load.tasks)
            with simulated(recording, load.workers, load.schedulers, "--tasks", str(load.tasks)) as urls:
                measured = measure(
                    server, load.what, urls, load.workers, load.settling, SECONDS, load.interval, load.poll
                )
                stop_watching(server)
                peer = seconds_per_scrape(folder / "prometheus", urls, load.interval, SECONDS)
                measured["prometheus"] = peer
            print(load, json.dumps(measured), file=sys.stderr, flush=True)
            results += load.results(measured)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return print_results("scaling", results, ("aiohttp", "distributed", "psycopg"), seconds=SECONDS)


if __name__ == "__main__":
    sys.exit(main())
