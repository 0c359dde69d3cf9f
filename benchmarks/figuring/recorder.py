"""A recorder of its own: plugins of plain distributed that write what they see, without Observatory's code.

`ScheduledTasks` writes each transition, worker and worker's removal of the scheduler; `WorkerSide` writes the
transfers that a worker received, the shards of P2P shuffles, and the memory of its process.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from distributed import Scheduler, SchedulerPlugin, Worker, WorkerPlugin

SAMPLING = 0.2
"""seconds between two samples of a worker's memory"""


class Lines:
    """A file of JSON lines, written by several threads."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)
        self._lock = threading.Lock()

    def write(self, kind: str, **fields: Any) -> None:
        with self._lock:
            self._file.write(json.dumps({"kind": kind, "time": time.time(), **fields}) + "\n")


class ScheduledTasks(SchedulerPlugin):  # type: ignore[misc]
    name = "figures-recorder"

    def __init__(self, folder: str) -> None:
        self.folder = folder

    async def start(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._lines = Lines(Path(self.folder) / "scheduler.jsonl")
        for worker in scheduler.workers.values():
            self._add(worker)

    def transition(self, key: Any, start: str, finish: str, *args: Any, **details: Any) -> None:
        task = self._scheduler.tasks.get(key)
        self._lines.write(
            "transition",
            key=str(key),
            prefix=None if task is None else task.prefix.name,
            group=None if task is None else task.group.name,
            start=start,
            finish=finish,
            nbytes=details.get("nbytes"),
            worker=details.get("worker"),
            status=details.get("status"),
            retries=None if task is None else task.retries,
            startstops=[
                [one["action"], one["start"], one["stop"]] for one in details.get("startstops") or ()
            ],
        )

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        self._add(scheduler.workers[worker])

    def _add(self, state: Any) -> None:
        self._lines.write(
            "worker",
            address=state.address,
            name=str(state.name),
            nanny=state.nanny,
            threads=state.nthreads,
            limit=state.memory_limit,
        )

    def remove_worker(self, scheduler: Scheduler, worker: str, **details: Any) -> None:
        self._lines.write("removed", address=worker)


class WorkerSide(WorkerPlugin):  # type: ignore[misc]
    name = "figures-recorder"

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def setup(self, worker: Worker) -> None:
        self._worker = worker
        port = worker.address.rsplit(":", 1)[-1]
        self._lines = Lines(Path(self.folder) / f"worker-{port}.jsonl")
        self._stopped = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()
        self._count_shards()

    def transition(self, key: Any, start: str, finish: str, **details: Any) -> None:
        """Write failed attempts: the scheduler isn't told the times of those that it tries again."""
        if finish == "error" and (task := self._worker.state.tasks.get(key)) is not None:
            self._lines.write(
                "failed",
                key=str(key),
                prefix=task.prefix,
                startstops=[[one["action"], one["start"], one["stop"]] for one in task.startstops],
            )

    def teardown(self, worker: Worker) -> None:
        self._stopped.set()
        self._read_transfers()

    def _watch(self) -> None:
        self._seen = 0
        while not self._stopped.wait(SAMPLING):
            self._lines.write(
                "memory",
                address=self._worker.address,
                process=self._worker.monitor.proc.memory_info().rss,
                monitored=self._worker.monitor.recent().get("memory"),
                spilled=getattr(self._worker.data, "spilled_total", (0, 0))[1],
            )
            self._worker.loop.add_callback(self._read_transfers)

    def _read_transfers(self) -> None:
        log = list(self._worker.transfer_incoming_log)
        for entry in log[self._seen :]:
            self._lines.write(
                "transfer",
                receiver=self._worker.address,
                sender=entry["who"],
                start=entry["start"],
                nbytes=entry["total"],
            )
        self._seen = len(log)

    def _count_shards(self) -> None:
        """Write the bytes of each message of a P2P shuffle, where its sender counts them."""
        from distributed.shuffle._core import ShuffleRun

        lines, address = self._lines, self._worker.address
        if getattr(ShuffleRun, "_figures_counted", False):
            return
        ShuffleRun._figures_counted = True
        send = ShuffleRun.send

        async def counted(run: Any, receiver: str, shards: Any) -> Any:
            start = time.time()
            answer = await send(run, receiver, shards)
            lines.write(
                "shards",
                shuffle=str(run.id),
                sender=address,
                receiver=receiver,
                start=start,
                nbytes=sum(len(memoryview(data).cast("B")) for data in _data(shards)),
            )
            return answer

        ShuffleRun.send = counted


def _data(shards: Any) -> Iterator[Any]:
    """Yield the bytes and arrays of shards, which are in lists and tuples, with numbers that say where."""
    if isinstance(shards, (list, tuple)):
        for one in shards:
            yield from _data(one)
    elif not isinstance(shards, int):
        yield shards
