"""How busy an event loop was, and how much of that the machine's other work was the reason for."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from observatory.agent.worker.event_loop import EventLoopInterval, Ticks


def without_core(folder: Path, seconds: float) -> None:
    """The kernel's statistics of this thread: it was ready to run for so long, and had no core."""
    thread = folder / str(threading.get_native_id())
    thread.mkdir(exist_ok=True)
    (thread / "schedstat").write_text(f"5000000 {round(seconds * 1e9)} 12\n")


def test_time_without_a_core_is_none_of_the_loops_own(tmp_path: Path) -> None:
    server = SimpleNamespace(_tick_counter=0)
    without_core(tmp_path, 1.0)
    began = time.monotonic()
    ticks = Ticks(server, tmp_path)
    time.sleep(0.3)
    server._tick_counter = 1
    without_core(tmp_path, 1.25)
    interval, own = ticks.means()
    assert 0.3 <= interval <= time.monotonic() - began
    assert own == pytest.approx(interval - 0.25)


def test_a_loop_that_sleeps_is_blocked_by_itself() -> None:
    server = SimpleNamespace(_tick_counter=0)
    ticks = Ticks(server)
    time.sleep(0.5)
    interval, own = ticks.means()
    assert own is not None
    assert 0 < own <= interval


def test_without_statistics_of_the_kernel_only_the_interval_is_known(tmp_path: Path) -> None:
    server = SimpleNamespace(_tick_counter=0)
    ticks, interval = Ticks(server, tmp_path), EventLoopInterval(server)
    assert ticks.means()[1] is None
    assert interval(server) > 0


def test_a_worker_reports_the_highest_own_interval_of_its_last_heartbeats() -> None:
    server = SimpleNamespace(_tick_counter=0)
    interval = EventLoopInterval(server)
    time.sleep(0.3)
    whole = interval(server)
    for _ in range(3):
        server._tick_counter += 1
        assert interval(server) == whole
    own = interval.own(server)
    assert own is not None
    assert own <= whole
