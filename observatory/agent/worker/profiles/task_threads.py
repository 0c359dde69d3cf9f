"""What the threads of a worker's tasks use of the CPU, and what those wait in that don't run.

Source: Linux's /proc/self/task. Elsewhere nothing is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

from observatory.wire.tasks.waits import CONNECTION, FILE, FILE_LOCK, LOCK, OTHER, PROCESS, SLEEP

METRIC = "observatory_task_threads"
"""among the metrics of heartbeats (Worker.metrics)"""
THREADS = Path("/proc/self/task")
EXECUTOR = "default"
"""of Worker.executors: the one whose threads a worker counts"""
KERNEL_FUNCTIONS = {
    LOCK: ("futex",),
    SLEEP: ("hrtimer_nanosleep", "do_nanosleep"),
    FILE_LOCK: ("locks_lock", "flock", "posix_lock", "fcntl_setlk"),
    CONNECTION: ("poll_", "do_poll", "do_select", "ep_poll", "sk_", "inet_", "tcp_", "unix_", "wait_woken"),
    FILE: ("io_schedule", "folio_", "wait_on_page", "bit_wait_io", "rpc_", "nfs", "request_wait_answer"),
    PROCESS: ("do_wait", "pipe_", "anon_pipe_"),
}
"""how the names begin of those in which the kernel keeps it (`wchan`)"""
RUNNING = "0"


class TaskThreads:
    """`cpu`: percent of a core since the last heartbeat that they used, or were ready to use.

    `waits`: how many threads with a task wait now, by what they wait in: what any was seen to wait in.
    """

    def __init__(self, worker: Any, threads: Path = THREADS) -> None:
        self._threads = threads
        self._time, self._wanted = monotonic(), dict(self._cpu(worker))
        self._seen: Counter[str] = Counter()

    def __call__(self, worker: Any) -> dict[str, Any]:
        time, wanted = monotonic(), dict(self._cpu(worker))
        seconds, before = time - self._time, self._wanted
        self._time, self._wanted = time, wanted
        if not wanted or seconds <= 0:
            return {}
        new = sum(max(0, wanted[thread] - before.get(thread, 0)) for thread in wanted)
        waits = Counter(self._waits(worker))
        self._seen += waits
        return {"cpu": new / 1e9 / seconds * 100, "waits": {wait: waits[wait] for wait in self._seen}}

    def _cpu(self, worker: Any) -> Iterator[tuple[int, int]]:
        """Nanoseconds for which each thread has run, or been ready to run, since it began."""
        for thread in _pool(worker):
            try:
                # the time on a CPU, the time without one, and how often it got one
                used, waited, _ = map(int, self._read(thread, "schedstat").split())
                yield thread.native_id, used + waited
            except (OSError, ValueError):  # the thread has ended, or there are no statistics
                continue

    def _waits(self, worker: Any) -> Iterator[str]:
        active = set(worker.active_threads)
        for thread in _pool(worker):
            try:
                if thread.ident in active and (found := wait_of(self._read(thread, "wchan"))):
                    yield found
            except OSError:
                continue

    def _read(self, thread: Any, name: str) -> str:
        return (self._threads / str(thread.native_id) / name).read_text()


def wait_of(function: str) -> str:
    """What a thread waits in, by the kernel's function; "": it runs, or the kernel doesn't tell."""
    name = function.strip()
    if not name or name == RUNNING:
        return ""
    return next((wait for wait, begins in KERNEL_FUNCTIONS.items() if name.startswith(begins)), OTHER)


def _pool(worker: Any) -> list[Any]:
    """The threads of the pool. A task that has seceded took its thread with it."""
    return list(getattr(worker.executors.get(EXECUTOR), "_threads", ()))
