"""Tasks of the schedule are due one after the other, so that they use the same session of PostgreSQL."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from celery import Celery

from observatory.config.celery import app
from observatory.runtime.spread_schedule import LONGEST, SpreadScheduler


def due(app: Celery, file: Path) -> dict[str, float]:
    """By task, the seconds until it is due."""
    scheduler = SpreadScheduler(app, schedule_filename=str(file), lazy=False)
    try:
        return {
            name: entry.schedule.remaining_estimate(entry.last_run_at).total_seconds()
            for name, entry in scheduler.schedule.items()
            if name in app.conf.beat_schedule
        }
    finally:
        scheduler.close()


def intervals() -> dict[str, float]:
    return {name: float(entry["schedule"]) for name, entry in app.conf.beat_schedule.items()}


def test_beat_spreads_the_tasks_of_the_settings() -> None:
    assert app.conf.beat_scheduler == f"{SpreadScheduler.__module__}:{SpreadScheduler.__name__}"


def test_no_two_tasks_that_are_due_each_minute_are_due_at_once(tmp_path: Path) -> None:
    found, every = due(app, tmp_path / "schedule"), intervals()
    often = sorted((name for name in found if every[name] <= 60), key=found.__getitem__)
    assert len(often) > 10
    assert all(0 < found[name] <= every[name] for name in often)
    gaps = [found[later] - found[earlier] for earlier, later in pairwise(often)]
    assert min(gaps) > 0.05
    tens = [name for name in often if every[name] == 10]
    assert len({round(found[name] % 10, 1) for name in tens}) == len(tens) > 2


def test_a_task_that_is_due_each_hour_waits_no_longer_after_a_restart(tmp_path: Path) -> None:
    rarely = {name for name, seconds in intervals().items() if timedelta(seconds=seconds) > LONGEST}
    assert rarely
    file = tmp_path / "schedule"
    before = due(app, file)
    scheduler = SpreadScheduler(app, schedule_filename=str(file), lazy=False)
    for entry in scheduler.schedule.values():
        entry.last_run_at -= timedelta(minutes=30)
    scheduler.close()
    after = due(app, file)
    for name in rarely:
        assert after[name] == pytest.approx(before[name] - 1800, abs=60)
