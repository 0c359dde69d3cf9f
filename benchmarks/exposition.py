"""How much faster a repeated /metrics page is read than by prometheus_client. To reach: 10 times.

The pages are a real scheduler's and a real worker's, recorded here while they work, so that values change.
"""

from __future__ import annotations

import json
import platform
import statistics
import sys
import time
import urllib.request
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from distributed import Client, LocalCluster
from prometheus_client.parser import text_string_to_metric_families

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from observatory.collect.exposition import Parser

CONTENT_TYPE = "text/plain; version=0.0.4"
PAGES, ROUNDS = 20, 7
TO_REACH = 10


def record(url: str, client: Client) -> list[bytes]:
    """Pages of an endpoint between which the cluster worked."""
    pages = []
    for turn in range(PAGES):
        client.gather(client.map(lambda number: number + 1, range(20), pure=False))
        with urllib.request.urlopen(f"{url}/metrics") as answer:
            pages.append(answer.read())
        time.sleep(0.05 * (turn % 2))
    return pages


def seconds(read: Callable[[bytes], object], pages: list[bytes]) -> float:
    """For each page, the median of the rounds."""
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
    ours = seconds(lambda page: parser.parse(page, CONTENT_TYPE), pages)
    theirs = seconds(lambda page: list(text_string_to_metric_families(page.decode())), pages)
    return theirs / ours


def main() -> None:
    with LocalCluster(n_workers=1, dashboard_address="127.0.0.1:0") as cluster, Client(cluster) as client:
        scheduler = cluster.dashboard_link.removesuffix("/status")
        [worker] = client.scheduler_info(n_workers=-1)["workers"].values()
        port = worker["services"]["dashboard"]
        pages = {"scheduler": record(scheduler, client), "worker": record(f"http://127.0.0.1:{port}", client)}
    ratios = {name: round(ratio(recorded), 1) for name, recorded in pages.items()}
    found = {
        "benchmark": "exposition",
        "times_as_fast_as_prometheus_client": ratios,
        "to_reach": TO_REACH,
        "lines": {name: recorded[-1].count(b"\n") for name, recorded in pages.items()},
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "versions": {name: version(name) for name in ("prometheus-client", "distributed")},
    }
    print(json.dumps(found))
    sys.exit(min(ratios.values()) < TO_REACH)


if __name__ == "__main__":
    main()
