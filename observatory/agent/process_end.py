"""Ends the agents of a process that ends without closing their schedulers: at its exit, or by a signal.

Scripts and notebooks that make a LocalCluster have the scheduler, and the agent, in their own process.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
import weakref
from types import FrameType
from typing import Protocol

TIMEOUT = 1.0
"""Most seconds that an ending process waits until the last batches are stored. They are on disk by then."""
SIGNALS = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
"""What ends a process without its atexit functions, unless it is handled."""
FORWARDED = 0x80
"""Added to the number of a signal that Python's handler passes on."""


class Ending(Protocol):
    """An agent of this process."""

    def begin_ending(self, reason: str) -> None:
        """Begins to record the end of its runs and workers, and to send the rest. Called in any thread."""

    def finish_ending(self, timeout: float) -> None:
        """Waits until that is done."""


_agents: set[Ending] = set()


def add(agent: Ending) -> None:
    """Ends the agent with the process, unless it is removed before."""
    _agents.add(agent)


def remove(agent: Ending) -> None:
    _agents.discard(agent)


def is_exiting() -> bool:
    """Whether the interpreter shuts down: no thread can be started any more."""
    return not threading.main_thread().is_alive()


def _end_agents(reason: str) -> None:
    agents = list(_agents)
    for agent in agents:
        agent.begin_ending(reason)
    for agent in agents:
        agent.finish_ending(TIMEOUT)


class _SignalWatcher:
    """A thread that ends the agents when a signal arrives, and then lets the signal end the process.

    Python calls its handlers in the main thread, between two of its instructions: not while that computes in
    C or has just begun to sleep, when the signal would have ended the process at once. So Python's low-level
    handler writes to a pipe, which the thread reads.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._has_wakeup = False
        threading.Thread(target=self._run, name="observatory-signals", daemon=True).start()

    def watch(self, numbers: list[signal.Signals]) -> None:
        for number in numbers:
            signal.signal(number, self._forward)
        others = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._has_wakeup = others in (-1, self._write)
        if not self._has_wakeup:  # the handlers of an event loop in the main thread: they go on
            signal.set_wakeup_fd(others)

    def forget(self) -> None:
        """Restores the defaults in a forked child, which shares the pipe."""
        if self._has_wakeup and (others := signal.set_wakeup_fd(-1)) != self._write:
            signal.set_wakeup_fd(others)
        for number in SIGNALS:
            if self._handles(number):
                signal.signal(number, signal.SIG_DFL)
        os.close(self._read)
        os.close(self._write)

    def _handles(self, number: int) -> bool:
        return signal.getsignal(number) == self._forward

    def _forward(self, number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._write, bytes([FORWARDED + number]))

    def _run(self) -> None:
        while written := os.read(self._read, 1):
            forwarded, number = divmod(written[0], FORWARDED)
            if number in SIGNALS and (forwarded or self._handles(number)):
                try:
                    _end_agents(signal.Signals(number).name)
                finally:
                    _end_process(number)


def _end_process(number: int) -> None:
    """Ends the process as the signal does by default. Only the main thread may call `signal.signal`."""
    ctypes.pythonapi.PyOS_setsig(number, None)  # None: SIG_DFL
    os.kill(os.getpid(), number)


_watcher: _SignalWatcher | None = None


def handle_signals() -> None:
    """Lets SIGTERM and SIGHUP end the agents of this process before the process, which they end by default.

    Changes nothing where the process has no agent or handles or ignores the signal, nor outside of the main
    thread, which alone can set handlers.
    """
    global _watcher
    is_main = threading.current_thread() is threading.main_thread()
    unhandled = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    if _agents and unhandled and is_main and os.name == "posix":
        _watcher = _watcher or _SignalWatcher()
        _watcher.watch(unhandled)


_forking = threading.local()


def _block_signals() -> None:
    """Before a fork: what reaches the child before `_forget` would be written to its parent's pipe."""
    _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


def _unblock_signals() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _forking.mask)


def _forget() -> None:
    """A forked child does not have its parent's agents."""
    global _watcher
    _agents.clear()
    if _watcher is not None:
        _watcher.forget()
        _watcher = None
    _unblock_signals()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_block_signals, after_in_parent=_unblock_signals, after_in_child=_forget)


class _Process:
    """Stands for this process: what `weakref.finalize` watches."""


_this_process = _Process()
# distributed makes a finalizer before it registers its atexit functions: finalizers run after these, which
# close clusters and thus most agents
weakref.finalize(_this_process, _end_agents, "")
