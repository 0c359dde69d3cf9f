"""The agent in a nanny's process: its logs, the memory of its worker, and how that ended."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Mapping
from typing import Any

import psutil
from distributed.diagnostics.plugin import NannyPlugin
from tornado.ioloop import PeriodicCallback

from observatory.agent.logs import Listener, handler, speaking
from observatory.agent.worker.message_sender import MessageSender
from observatory.agent.worker.plugin import FLUSH, URGENT, levels_of
from observatory.agent.worker.write_ahead_log import WriteAheadLog, left_by, path_for

SAMPLING = 0.2
SHARE = 0.02
"""of the limit, by which memory has to change to be told before its time"""
GAUGE = 1


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
        self.memory = 0
        self._told: tuple[float, int] = (0.0, 0)
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
        self._measure()  # or who dies in its first moments would have no process id to be found by
        self.message_sender.start()

    async def teardown(self, nanny: Any) -> None:
        self._callback.stop()
        nanny._on_worker_exit = self._on_worker_exit
        nanny.handlers.pop(FLUSH, None)
        handler.leave(self.listener)
        await self.message_sender.stop()

    def _logged(self, row: tuple[Any, ...]) -> None:
        self.wal.append("log", row)
        if row[3] >= URGENT:
            self.message_sender.hurry()

    def _measure(self) -> None:
        """The memory of the worker's process, more often than the worker's heartbeats can tell it."""
        try:
            process = self.nanny.process
            if process is None or not process.pid or not process.worker_address:
                return
            self.address = process.worker_address
            if self._process is None or self._process.pid != process.pid:
                self._process = psutil.Process(process.pid)
            self.memory = self._process.memory_info().rss
        except (psutil.Error, OSError):
            return
        now, before = time.time(), self._told
        limit = self.nanny.memory_manager.memory_limit or 0
        is_changed = limit and abs(self.memory - before[1]) > SHARE * limit
        if is_changed or now - before[0] >= self.settings["sample_interval"]:
            self._told = (now, self.memory)
            series = json.dumps(["observatory_worker_memory_bytes", {"type": "process"}, self.address, GAUGE])
            self.wal.append("sample", (now, float(self.memory), series))

    async def _exited(self, exitcode: int | None) -> None:
        """Stands before Nanny._on_worker_exit."""
        try:
            self._tell_exit(exitcode)
        finally:
            speaking.set(self.listener)
            await self._on_worker_exit(exitcode)

    def _pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    def _tell_exit(self, exitcode: int | None) -> None:
        pid = self._pid()
        if self.nanny.status.name == "running":
            detail = self._exit(exitcode, pid)
            self.wal.append("event", (time.time(), "worker-restarted", self.address, json.dumps(detail)))
        path = path_for(self.nanny.address, pid)
        self.wal.send_also(left_by(path))
        path.unlink(missing_ok=True)
        self.message_sender.hurry()

    def _exit(self, exitcode: int | None, pid: int) -> dict[str, Any]:
        number = -exitcode if exitcode is not None and exitcode < 0 else 0
        name = _signal(number) if number else ""
        was_over = getattr(self.nanny.memory_manager, "_last_terminated_pid", -1) == pid
        how = f"was killed by {name}" if number else f"ended with exit code {exitcode}"
        why = ", since it had used too much memory" if was_over else ""
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
