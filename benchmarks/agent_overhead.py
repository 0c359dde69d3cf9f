"""Overhead of the agent: 20,000 trivial tasks with it, without it, and with Dask's own tools.

Scheduler and workers of one cluster run in their own processes. Each round measures all variants, in the
reverse order of the round before, because the speed of a machine drifts: without anything, with the agent
(another process accepts its batches), in a `performance_report`, and with a subscriber to the stock
/eventstream. Limits: 0.97 of the throughput without the agent, and less additional CPU time of the scheduler
than a performance_report.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import http.server
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import psutil
from distributed import Client, performance_report, wait
from distributed.deploy.subprocess import SubprocessCluster

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import observatory.agent
from benchmarks.measuring.results import Result, print_results
from observatory.wire.batches import decode_batch

TASKS, ROUNDS, WORKERS = 20_000, int(os.environ.get("ROUNDS", "4")), 2
LIMIT = 0.97
WITHOUT, AGENT, REPORT, STREAM = "without", "agent", "performance_report", "eventstream"


class Acknowledging(http.server.BaseHTTPRequestHandler):
    """Acknowledges all batches."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.received.get_lock():  # type: ignore[attr-defined]
            self.server.received.value += len(body)  # type: ignore[attr-defined]
        head, _ = decode_batch(gzip.decompress(body))
        answer = json.dumps({"sequence": head.sequence, "refused": 0, "already": False}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


def acknowledge(port: Any, received: Any) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Acknowledging)
    server.received = received  # type: ignore[attr-defined]
    port.value = server.server_address[1]
    server.serve_forever()


def listen(url: str, ready: Any) -> None:
    """Subscribe to the stock event stream; runs in its own process."""

    async def subscribed() -> None:
        async with aiohttp.ClientSession() as session, session.ws_connect(url, max_msg_size=0) as socket:
            ready.set()
            async for _ in socket:
                pass

    asyncio.run(subscribed())


def increment(number: int) -> int:
    return number + 1


class Bench:
    def __init__(self, client: Client, url: str, sink: str) -> None:
        self.client, self.url, self.sink = client, url, sink
        self.scheduler = psutil.Process(client.run_on_scheduler(os.getpid))

    def run(self, variant: str) -> tuple[float, float]:
        """Return tasks per second and CPU seconds of the scheduler, set-up and tear-down included."""
        time.sleep(1)
        before = sum(self.scheduler.cpu_times()[:2])
        with getattr(self, f"_{variant}")():
            started = time.perf_counter()
            futures = self.client.map(increment, range(TASKS), pure=False)
            wait(futures)
            taken = time.perf_counter() - started
            del futures
        return TASKS / taken, sum(self.scheduler.cpu_times()[:2]) - before

    @contextlib.contextmanager
    def _without(self) -> Iterator[None]:
        yield

    @contextlib.contextmanager
    def _agent(self) -> Iterator[None]:
        observatory.agent.register(self.client, url=self.sink, token="benchmark")
        yield
        observatory.agent.unregister(self.client)

    @contextlib.contextmanager
    def _performance_report(self) -> Iterator[None]:
        with tempfile.NamedTemporaryFile(suffix=".html") as file, performance_report(file.name):
            yield

    @contextlib.contextmanager
    def _eventstream(self) -> Iterator[None]:
        ready = multiprocessing.Event()
        process = multiprocessing.Process(target=listen, args=(f"{self.url}/eventstream", ready), daemon=True)
        process.start()
        assert ready.wait(30)
        yield
        process.kill()
        process.join()


def measure(bench: Bench) -> dict[str, list[tuple[float, float]]]:
    variants = [WITHOUT, AGENT, REPORT, STREAM]
    found: dict[str, list[tuple[float, float]]] = {variant: [] for variant in variants}
    for variant in variants:
        bench.run(variant)
    for turn in range(ROUNDS):
        for variant in variants if turn % 2 else reversed(variants):
            found[variant].append(bench.run(variant))
    return found


def main() -> int:
    port, received = multiprocessing.Value("i", 0), multiprocessing.Value("q", 0)
    sink = multiprocessing.Process(target=acknowledge, args=(port, received), daemon=True)
    sink.start()
    workers = {"n_workers": WORKERS, "threads_per_worker": 1}
    with SubprocessCluster(**workers, silence_logs="ERROR") as cluster, Client(cluster) as client:
        while not port.value:
            time.sleep(0.05)
        url = client.dashboard_link.removesuffix("/status")
        found = measure(Bench(client, url, f"http://127.0.0.1:{port.value}"))
    without = found[WITHOUT]
    throughput = {
        variant: statistics.median(
            one[0] / other[0] for one, other in zip(found[variant], without, strict=True)
        )
        for variant in (AGENT, REPORT, STREAM)
    }
    added = {
        variant: statistics.median(
            one[1] / other[1] - 1 for one, other in zip(found[variant], without, strict=True)
        )
        for variant in (AGENT, REPORT, STREAM)
    }
    sink.kill()
    results = [
        Result(
            "throughput with the agent",
            "without the agent",
            round(throughput[AGENT], 3),
            LIMIT,
            at_least=True,
        ),
        Result(
            "CPU time that the agent adds to the scheduler, relative to the scheduler's own",
            "a performance_report",
            round(added[AGENT], 3),
            round(added[REPORT], 3),
        ),
    ]
    return print_results(
        "agent_overhead",
        results,
        ("dask", "distributed"),
        throughput={name: round(value, 3) for name, value in throughput.items()},
        scheduler_cpu_added={name: round(value, 3) for name, value in added.items()},
        tasks_per_second_without=round(statistics.median(rate for rate, _ in without)),
        rounds=ROUNDS,
        bytes_sent_per_task=round(received.value / (TASKS * (ROUNDS + 1))),
    )


if __name__ == "__main__":
    sys.exit(main())
