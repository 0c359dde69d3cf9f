"""The load of the soak: clusters that come and go, and open pages."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

from benchmarks.fifty_pages import pause
from tests.browser.observatory import Observatory, free_port
from tests.collect.dask_processes import Scheduler

ROOT = Path(__file__).resolve().parent.parent.parent
REQUESTS = 10.0
"""seconds between two rounds of requests of all pages"""
TASKS = 200
FAILED_TASKS = 10
"""of each cluster: as many as the rule "Task errors" fires for"""
LAYERS = ("spans", "events")
LEVEL = 15
TILE_BITS = LEVEL + 9
"""a tile of this level is 2^TILE_BITS µs wide"""


def fail(number: int) -> None:
    raise ValueError(f"task {number} of the soak")


class Clusters(threading.Thread):
    """Starts and stops `count` clusters one after the other, evenly spread over `seconds`.

    Each has failed tasks, so that it adds a row to the lists of clusters, of runs and of alerts.
    """

    def __init__(self, server: Observatory, count: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self.interval = seconds / count
        self.count = count
        self.started_clusters = 0
        self.stopping = threading.Event()
        self.http_port = free_port()
        self.agent = {
            "OBSERVATORY_URL": server.url,
            "OBSERVATORY_TOKEN": server.manage("ingest_token", "default").strip(),
        }
        self.agent["DASK_DISTRIBUTED__SCHEDULER__PRELOAD"] = '["observatory.agent"]'
        self.agent["PYTHONPATH"] = str(ROOT)

    def fill(self, count: int) -> None:
        """Starts and stops `count` clusters at once one after the other."""
        for _ in range(count):
            self._run_one()

    def run(self) -> None:
        began = time.monotonic()
        for number in range(self.count):
            if self.stopping.wait(max(0.0, began + number * self.interval - time.monotonic())):
                return
            self._run_one()

    def _run_one(self) -> None:
        cluster = Scheduler(http_port=self.http_port, config=self.agent)
        try:
            cluster.start_workers(1)
            self.started_clusters += 1
            with cluster.client() as client:
                failed = client.map(fail, range(FAILED_TASKS), pure=False)
                client.gather([*client.map(pause, range(TASKS), pure=False), *failed], errors="skip")
        finally:
            cluster.stop()

    def stop(self) -> None:
        self.stopping.set()
        self.join(120)


class Pages(threading.Thread):
    """Live sockets of a cluster that also request tiles and states."""

    def __init__(self, server: Observatory, session: str, cluster: int, count: int) -> None:
        super().__init__(daemon=True)
        self.cluster = cluster
        self.stopping = threading.Event()
        command = [sys.executable, "-m", "benchmarks.simulated.viewers", server.url, str(cluster), session]
        self.process = subprocess.Popen(
            [*command, str(count)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.process.stdout.readline()

    def run(self) -> None:
        assert self.process.stdin is not None
        while not self.stopping.wait(REQUESTS):
            at = time.time() - 60
            tile = int(at * 1e6) >> TILE_BITS
            paths = [f"tiles/{layer}/{LEVEL}/{tile}" for layer in LAYERS]
            for path in (*paths, f"state?at={at:.6f}"):
                self.process.stdin.write(json.dumps(f"/api/v1/clusters/{self.cluster}/{path}") + "\n")
            self.process.stdin.flush()

    def stop(self) -> dict[str, int]:
        """Close the pages; returns what they received."""
        self.stopping.set()
        self.join()
        received, _ = self.process.communicate(timeout=60)
        return dict(json.loads(received.splitlines()[-1]))
