"""Serves a recorded scheduler with any number of workers.

`python -m benchmarks.simulated.cluster FILE WORKERS` prints the scheduler's address, then serves until it is
killed. With `--schedulers` there are several, with WORKERS workers each, and each runs `--tasks` tasks a
second. Every worker has its own address in 127/8; one socket, bound to the loopback interface, listens for
all. With `--busy`, identity.json fails, as a stock scheduler's does while workers run tasks.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import resource
import socket
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aiohttp import web
from distributed.scheduler import heartbeat_interval

from benchmarks.simulated.pages import Pages
from benchmarks.simulated.recording import Recording

PAGE_INTERVAL = 1.0
"""seconds until an endpoint serves its next recorded page"""
FIRST_HOST = 0x7F010000
"""127.1.0.0"""
PROCESS_START = re.compile(r"^(process_start_time_seconds )(\S+)$", re.MULTILINE)
ROW = re.compile(r"<tr >.*?</tr>", re.DOTALL)


@dataclass(slots=True)
class Beat:
    """A worker's last heartbeat, as an entry of identity.json."""

    number: int
    text: str


class Simulation:
    """The handlers of the endpoints."""

    def __init__(self, recording: Recording, workers: int, port: int, busy: bool, tasks: float) -> None:
        self.recording = recording
        self.tasks_per_second = tasks
        self.hosts = [socket.inet_ntoa((FIRST_HOST + worker).to_bytes(4, "big")) for worker in range(workers)]
        self.numbers = {host: worker for worker, host in enumerate(self.hosts)}
        self.port = port
        self.busy = busy
        self.began = time.time()
        self.scheduler, self.worker = Pages(recording.scheduler_pages), Pages(recording.worker_pages)
        self.interval = heartbeat_interval(workers)
        self.beats = [Beat(-1, "") for _ in self.hosts]
        [(self.address, self.template)] = recording.identities[-1]["workers"].items()
        self.table = ROW.search(recording.workers_page)

    def elapsed(self) -> float:
        return time.time() - self.began

    async def scheduler_metrics(self, request: web.Request) -> web.Response:
        return _text(self.scheduler.page(int(self.elapsed() / PAGE_INTERVAL), 1.0))

    async def worker_metrics(self, request: web.Request) -> web.Response:
        assert request.transport is not None
        worker = self.numbers[request.transport.get_extra_info("sockname")[0]]
        return _text(self.worker.page(worker + int(self.elapsed() / PAGE_INTERVAL), self._scale(worker)))

    async def counts(self, request: web.Request) -> web.Response:
        """Tasks are always processing if the scheduler is busy."""
        counts = self.recording.counts[int(self.elapsed() / PAGE_INTERVAL) % len(self.recording.counts)]
        workers = len(self.hosts)
        totals = {"workers": workers, "hosts": workers, "cores": workers * counts["cores"], "memory": 0}
        return web.json_response({**counts, **totals, "processing": workers if self.busy else 0})

    async def identity(self, request: web.Request) -> web.Response:
        if self.busy:
            return web.Response(status=500)
        identity = {**self.recording.identities[-1], "n_workers": len(self.hosts), "workers": {}}
        identity["total_threads"] = self.template["nthreads"] * len(self.hosts)
        workers = ", ".join(self._beat(worker) for worker in range(len(self.hosts)))
        return web.Response(
            text=json.dumps(identity).replace('"workers": {}', f'"workers": {{{workers}}}'),
            content_type="application/json",
        )

    async def workers_page(self, request: web.Request) -> web.Response:
        assert self.table is not None
        page = self.recording.workers_page
        rows = "\n".join(self._row(worker, self.table[0]) for worker in range(len(self.hosts)))
        body = f"{page[: self.table.start()]}{rows}{page[self.table.end() :]}"
        return web.Response(text=body, content_type="text/html")

    async def stream(self, request: web.Request) -> web.WebSocketResponse:
        """Send recorded tasks, as if they ended now; none of an idle scheduler."""
        answer = web.WebSocketResponse()
        await answer.prepare(request)
        if not self.tasks_per_second:
            await answer.receive()
            return answer
        sent = 0
        while not answer.closed:
            recorded = self.recording.transitions[sent % len(self.recording.transitions)]
            now = time.time()
            worker = f"tcp://{self.hosts[sent % len(self.hosts)]}:{self.port}"
            moved = {"worker": worker, "start": now - (recorded["stop"] - recorded["start"]), "stop": now}
            sent += 1
            await answer.send_str(json.dumps({**recorded, **moved, "key": f"burn-{sent:08x}"}))
            await asyncio.sleep(1 / self.tasks_per_second)
        return answer

    def _scale(self, worker: int) -> float:
        return 1.0 + worker / len(self.hosts)

    def _last_heartbeat(self, worker: int) -> tuple[int, float]:
        """Return number and time of a worker's last heartbeat; workers are spread over the interval."""
        since = self.elapsed() + self.interval * (1 - worker / len(self.hosts))
        number = int(since / self.interval)
        return number, time.time() - (since - number * self.interval)

    def _beat(self, worker: int) -> str:
        """Return a worker's entry in identity.json."""
        number, heartbeat = self._last_heartbeat(worker)
        beat = self.beats[worker]
        if beat.number != number:
            host = self.hosts[worker]
            [recorded] = self.recording.identities[(worker + number) % len(self.recording.identities)][
                "workers"
            ].values()
            metrics = {**recorded["metrics"], "time": heartbeat - 0.002}
            for name in ("cpu", "memory", "managed_bytes"):
                metrics[name] = type(metrics[name])(metrics[name] * self._scale(worker))
            entry = {
                **self.template,
                "id": worker,
                "name": worker,
                "host": host,
                "local_directory": f"{self.template['local_directory']}-{worker}",
                "last_seen": heartbeat,
                "services": {"dashboard": self.port},
                "metrics": metrics,
                "nanny": f"tcp://{host}:{self.port + 1}",
            }
            beat.number, beat.text = number, f'"tcp://{host}:{self.port}": {json.dumps(entry)}'
        return beat.text

    def _row(self, worker: int, row: str) -> str:
        """Return a worker's row in the page of workers."""
        host = self.hosts[worker]
        _, heartbeat = self._last_heartbeat(worker)
        memory = self.template["metrics"]["memory"]
        for recorded, ours in (
            (self.address, f"tcp://{host}:{self.port}"),
            (f"/proxy/{self.template['services']['dashboard']}/127.0.0.1/", f"/proxy/{self.port}/{host}/"),
            (f"<td> {self.template['name']} </td>\n", f"<td> {worker} </td>\n"),
            (f'value="{memory}"', f'value="{int(memory * self._scale(worker))}"'),
        ):
            row = row.replace(recorded, ours, 1)
        return re.sub(
            r'data-sort="[\d.]+"> [^<]*s </td>\s*</tr>',
            f'data-sort="{time.time() - heartbeat}"> </td>\n</tr>',
            row,
        )


def _text(body: bytes) -> web.Response:
    return web.Response(body=body, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})


async def serve(recording: Recording, workers: int, busy: bool, tasks: float) -> None:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
    listening.bind(("0.0.0.0", 0))
    simulation = Simulation(recording, workers, listening.getsockname()[1], busy, tasks)
    scheduler, worker = web.Application(), web.Application()
    scheduler.router.add_get("/metrics", simulation.scheduler_metrics)
    scheduler.router.add_get("/json/counts.json", simulation.counts)
    scheduler.router.add_get("/json/identity.json", simulation.identity)
    scheduler.router.add_get("/info/main/workers.html", simulation.workers_page)
    scheduler.router.add_get("/eventstream", simulation.stream)
    worker.router.add_get("/metrics", simulation.worker_metrics)
    runners = [web.AppRunner(application, access_log=None) for application in (scheduler, worker)]
    for runner in runners:
        await runner.setup()
    await web.SockSite(runners[1], listening, backlog=2 * workers).start()
    await web.TCPSite(runners[0], "127.0.0.1", 0).start()
    host, port = runners[0].addresses[0]
    print(f"http://{host}:{port}", flush=True)


async def serve_all(recording: Recording, schedulers: int, workers: int, busy: bool, tasks: float) -> None:
    for number in range(schedulers):
        identities = [{**identity, "id": f"{identity['id']}-{number}"} for identity in recording.identities]
        pages = [_started_later(page, number) for page in recording.scheduler_pages]
        recorded = replace(recording, identities=identities, scheduler_pages=pages)
        await serve(recorded, workers, busy, tasks)
    await asyncio.Event().wait()


def _started_later(page: str, seconds: int) -> str:
    """The page of a process of its own: those of one process would be read one after another."""
    return PROCESS_START.sub(lambda found: f"{found[1]}{float(found[2]) + seconds!r}", page)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("recording", type=Path)
    parser.add_argument("workers", type=int)
    parser.add_argument("--schedulers", type=int, default=1)
    parser.add_argument(
        "--tasks", type=float, default=100, help="tasks a second of each scheduler; 0: it is idle"
    )
    parser.add_argument("--busy", action="store_true")
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    recorded: dict[str, Any] = json.loads(options.recording.read_text())
    asyncio.run(
        serve_all(Recording(**recorded), options.schedulers, options.workers, options.busy, options.tasks)
    )


if __name__ == "__main__":
    main()
