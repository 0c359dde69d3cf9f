"""Speed-up of parsing a /metrics page repeatedly, relative to prometheus_client. Limit: 10.

The pages of a real scheduler and a real worker are recorded while they work, so that values change.
"""

from __future__ import annotations

import statistics
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from distributed import Client, LocalCluster
from prometheus_client.parser import text_string_to_metric_families

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measuring.results import Result, print_results
from observatory.collect.http.exposition import Parser

CONTENT_TYPE = "text/plain; version=0.0.4"
PAGES, ROUNDS = 20, 7
LIMIT = 10


def record(url: str, client: Client) -> list[bytes]:
    """Record pages of an endpoint, with tasks in between."""
    pages = []
    for turn in range(PAGES):
        client.gather(client.map(lambda number: number + 1, range(20), pure=False))
        with urllib.request.urlopen(f"{url}/metrics") as answer:
            pages.append(answer.read())
        time.sleep(0.05 * (turn % 2))
    return pages


def seconds_per_page(read: Callable[[bytes], object], pages: list[bytes]) -> float:
    """Return the seconds per page, the median of the rounds."""
    taken = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for page in pages:
            read(page)
        taken.append((time.perf_counter() - started) / len(pages))
    return statistics.median(taken)


def ratio(pages: list[bytes]) -> float:
    parser = Parser()
    parser.parse(pages[0], CONTENT_TYPE)
    ours = seconds_per_page(lambda page: parser.parse(page, CONTENT_TYPE), pages)
    theirs = seconds_per_page(lambda page: list(text_string_to_metric_families(page.decode())), pages)
    return theirs / ours


def main() -> int:
    with LocalCluster(n_workers=1, dashboard_address="127.0.0.1:0") as cluster, Client(cluster) as client:
        scheduler = cluster.dashboard_link.removesuffix("/status")
        [worker] = client.scheduler_info(n_workers=-1)["workers"].values()
        port = worker["services"]["dashboard"]
        pages = {"scheduler": record(scheduler, client), "worker": record(f"http://127.0.0.1:{port}", client)}
    results = [
        Result(
            f"speed-up: parsing a {name}'s /metrics again",
            "prometheus_client",
            round(ratio(recorded), 1),
            LIMIT,
            at_least=True,
        )
        for name, recorded in pages.items()
    ]
    lines = {name: recorded[-1].count(b"\n") for name, recorded in pages.items()}
    return print_results("exposition", results, ("prometheus-client", "distributed"), lines=lines)


if __name__ == "__main__":
    sys.exit(main())
