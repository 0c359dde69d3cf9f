"""A recorder of its own: plugins of plain distributed that write what they see, without Observatory's code.

`ScheduledTasks` writes each transition, worker and worker's removal of the scheduler; `WorkerSide` writes the
transfers that a worker received, the shards of P2P shuffles, the memory of its process at each time that Dask
reads it, each sample of its monitor and what its heartbeats say, how often Dask's profiler looked at tasks,
and what functions a profiler of its own saw.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from dask.utils import key_split
from distributed import Scheduler, SchedulerPlugin, Worker, WorkerPlugin

SAMPLING = 0.2
"""seconds between two samples of a worker's memory"""
PROFILING = 0.02
"""seconds between two looks at the stacks of tasks"""


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
        self._monitored, self._profiled = worker.monitor.count, 0.0
        self._stopped = threading.Event()
        for watch in (self._watch, self._sample_stacks):
            threading.Thread(target=watch, daemon=True).start()
        self._note_metrics()
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
        self._read_logs()

    def _watch(self) -> None:
        self._seen = 0
        while not self._stopped.wait(SAMPLING):
            self._lines.write(
                "memory",
                address=self._worker.address,
                process=self._worker.monitor.proc.memory_info().rss,
                spilled=getattr(self._worker.data, "spilled_total", (0, 0))[1],
            )
            self._worker.loop.add_callback(self._read_logs)

    def _note_metrics(self) -> None:
        """Write what Dask reads of memory, at each reading, and what its heartbeats say.

        Memory can rise and fall by hundreds of MiB within SAMPLING, or within the monitor's interval.
        """
        worker, address, lines = self._worker, self._worker.address, self._lines
        read, get_metrics = worker.monitor.get_process_memory, worker.get_metrics

        def noted_memory() -> int:
            process: int = read()
            spilled = getattr(worker.data, "spilled_total", (0, 0))[1]
            lines.write("memory", address=address, process=process, spilled=spilled)
            return process

        async def noted_metrics() -> Any:
            metrics = await get_metrics()
            spilled = metrics["spilled_bytes"]["disk"]
            lines.write("memory", address=address, process=metrics["memory"], spilled=spilled)
            values = {name: metrics.get(name) for name in ("memory", "cpu", "gil_contention")}
            lines.write("monitor", address=address, at=time.time(), **values)
            return metrics

        worker.monitor.get_process_memory, worker.get_metrics = noted_memory, noted_metrics

    def _read_logs(self) -> None:
        """Read what Dask itself keeps, in its event loop's thread."""
        self._read_transfers()
        self._read_monitor()
        self._read_profiles()

    def _read_monitor(self) -> None:
        monitor = self._worker.monitor
        samples = monitor.range_query(start=self._monitored)
        self._monitored = monitor.count
        for at, sample in enumerate(samples["time"]):
            values = {name: samples[name][at] for name in ("memory", "cpu", "gil_contention")}
            self._lines.write("monitor", address=self._worker.address, at=sample, **values)

    def _read_profiles(self) -> None:
        history = [entry for entry in self._worker.profile_keys_history if entry[0] > self._profiled]
        for at, by_prefix in history:
            self._profiled = at
            counts = {str(prefix): tree["count"] for prefix, tree in by_prefix.items()}
            self._lines.write("profile", at=at, counts=counts)

    def _sample_stacks(self) -> None:
        """Look at the stacks of threads that compute, as a profiler of its own, and count each function."""
        samples: Counter[str] = Counter()
        functions: Counter[tuple[str, str]] = Counter()
        written = time.time()
        while not self._stopped.wait(PROFILING):
            frames = sys._current_frames()
            for thread, key in self._worker.active_threads.copy().items():
                prefix = key_split(key)
                samples[prefix] += 1
                functions.update((prefix, name) for name in set(_names(frames.get(thread))))
            if samples and time.time() - written >= 1:
                counts = [[prefix, name, count] for (prefix, name), count in functions.items()]
                self._lines.write("stacks", samples=dict(samples), functions=counts)
                samples.clear()
                functions.clear()
                written = time.time()

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


def _names(frame: FrameType | None) -> Iterator[str]:
    """Yield the names of the functions of a stack, up to the one of the worker that computes the task."""
    while frame is not None and not frame.f_code.co_filename.endswith("distributed/worker.py"):
        yield frame.f_code.co_name
        frame = frame.f_back


def _data(shards: Any) -> Iterator[Any]:
    """Yield the bytes and arrays of shards, which are in lists and tuples, with numbers that say where."""
    if isinstance(shards, (list, tuple)):
        for one in shards:
            yield from _data(one)
    elif not isinstance(shards, int):
        yield shards
