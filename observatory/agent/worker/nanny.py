"""The agent's nanny plugin: records the nanny's logs, its worker's memory and how the worker ended."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Mapping
from typing import Any

import psutil
from distributed.diagnostics.plugin import NannyPlugin
from tornado.ioloop import PeriodicCallback

from observatory.agent.logs import Listener, current_listener, handler
from observatory.agent.worker.log.message_sender import MessageSender
from observatory.agent.worker.log.write_ahead_log import WriteAheadLog, path_for, read_messages
from observatory.agent.worker.plugin import FLUSH, URGENT, levels_of
from observatory.wire.records import MetricType

SAMPLING = 0.2
SHARE = 0.02
"""A change of memory by this share of the limit is sampled at once."""
GAUGE = int(MetricType.GAUGE)
LATENCY = 3.0
"""Seconds up to which a delay may be the latency of a call, not of the clocks."""
ANSWER_TIMEOUT = 5.0


class NannyAgent(NannyPlugin):
    name = "observatory-nanny"
    idempotent = True
    restart = False

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """`settings`: Configuration.for_workers()."""
        self.settings = settings

    def setup(self, nanny: Any) -> None:
        self.nanny = nanny
        self.address = nanny.worker_address or ""
        self.wal = WriteAheadLog()
        self.delay: float | None = None
        """Seconds that the scheduler's clock is ahead of ours; None until it is measured."""
        self._early: list[tuple[str, tuple[Any, ...]]] = []
        """Rows (kind, row) that wait for that."""
        self._lock = threading.Lock()
        self.memory = 0
        self._last_sample: tuple[float, int] = (0.0, 0)
        self._process: psutil.Process | None = None
        self.message_sender = MessageSender(nanny, self.wal, lambda: self.address, lambda: None)
        levels = levels_of(self.settings)
        self.listener = Listener(self._logged, "nanny", levels, lambda: self.address, self._pid)
        handler.listen(self.listener)
        nanny.handlers[FLUSH] = self.message_sender.flush
        self._on_worker_exit = nanny._on_worker_exit
        nanny._on_worker_exit = self._exited
        self._callback = PeriodicCallback(self._measure, SAMPLING * 1000)
        self._callback.start()
        self._measure()  # so that the process id is known even if the worker dies at once
        self.message_sender.start()
        nanny.loop.add_callback(self._measure_delay)

    async def teardown(self, nanny: Any) -> None:
        self._callback.stop()
        nanny._on_worker_exit = self._on_worker_exit
        nanny.handlers.pop(FLUSH, None)
        handler.leave(self.listener)
        self._set_delay(self.delay or 0.0)
        await self.message_sender.stop()

    async def _measure_delay(self) -> None:
        """Asks the scheduler for its time; Dask measures it for workers only."""
        sent, delay = time.time(), 0.0
        try:
            call = self.nanny.scheduler.observatory_records()
            answer = await asyncio.wait_for(call, ANSWER_TIMEOUT)
            delay = answer["time"] - (sent + time.time()) / 2
        except Exception:  # the scheduler is gone, busy, or has an older agent
            pass
        self._set_delay(delay if abs(delay) > LATENCY else 0.0)

    def _set_delay(self, delay: float) -> None:
        with self._lock:
            self.delay = delay
            for kind, row in self._early:
                self.wal.append(kind, (row[0] + delay, *row[1:]))
            self._early = []

    def _append(self, kind: str, row: tuple[Any, ...]) -> None:
        """Appends a row with our time as its first value. Any thread may call this."""
        with self._lock:
            if self.delay is None:
                self._early.append((kind, row))
            else:
                self.wal.append(kind, (row[0] + self.delay, *row[1:]))

    def _logged(self, row: tuple[Any, ...]) -> None:
        self._append("log", row)
        if row[3] >= URGENT:
            self.message_sender.send_soon()

    def _measure(self) -> None:
        """Samples the memory of the worker's process, more often than its heartbeats do."""
        try:
            process = self.nanny.process
            if process is None or not process.pid:
                return
            if self._process is None or self._process.pid != process.pid:
                self._process = psutil.Process(process.pid)
            memory = self._process.memory_info().rss
            if not memory:
                return  # it has ended, and its nanny has not been told yet
            self.memory = memory
            if process.status.name == "starting":
                return  # the new process has no address yet; worker_address is that of the dead one
            self.address = process.worker_address
        except (psutil.Error, OSError):
            return
        now, (last_time, last_memory) = time.time(), self._last_sample
        limit = self.nanny.memory_manager.memory_limit or 0
        is_changed = limit and abs(self.memory - last_memory) > SHARE * limit
        if is_changed or now - last_time >= self.settings["sample_interval"]:
            self._last_sample = (now, self.memory)
            series = json.dumps(["observatory_worker_memory_bytes", {"type": "process"}, self.address, GAUGE])
            self._append("sample", (now, float(self.memory), series))

    async def _exited(self, exitcode: int | None) -> None:
        """Replaces Nanny._on_worker_exit, and calls it."""
        try:
            self._record_exit(exitcode)
        finally:
            current_listener.set(self.listener)
            await self._on_worker_exit(exitcode)

    def _pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    def _record_exit(self, exitcode: int | None) -> None:
        pid = self._pid()
        if self.nanny.status.name == "running":
            detail = self._describe_exit(exitcode, pid)
            self._append("event", (time.time(), "worker-restarted", self.address, json.dumps(detail)))
        path = path_for(self.nanny.address, pid)
        self.wal.add_messages(read_messages(path))
        path.unlink(missing_ok=True)
        self.message_sender.send_soon()

    def _describe_exit(self, exitcode: int | None, pid: int) -> dict[str, Any]:
        number = -exitcode if exitcode is not None and exitcode < 0 else 0
        name = _signal(number) if number else ""
        was_over = getattr(self.nanny.memory_manager, "_last_terminated_pid", -1) == pid
        how = f"was killed by {name}" if number else f"ended with exit code {exitcode}"
        why = ", because it used too much memory" if was_over else ""
        return {
            "message": f"the process of {self.address} {how}{why}: its nanny starts another one",
            "exitcode": exitcode,
            "signal": name,
            "pid": pid,
            "reason": "memory" if was_over else "",
            "memory": self.memory,
            "nanny_pid": os.getpid(),
        }


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
