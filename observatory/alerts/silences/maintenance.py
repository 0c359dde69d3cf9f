"""The occurrences of maintenance windows: once, or every day or week at the same time in UTC."""

from __future__ import annotations

from datetime import datetime, timedelta

from observatory.alerts.models import MaintenanceWindow

PERIODS = {
    MaintenanceWindow.Repeat.DAILY.value: timedelta(days=1),
    MaintenanceWindow.Repeat.WEEKLY.value: timedelta(weeks=1),
}


def occurrence(window: MaintenanceWindow, at: datetime) -> tuple[datetime, datetime] | None:
    """Start and end of the current occurrence, or else of the next one; None: it is over."""
    start, stop = window.starts, window.stops
    period = PERIODS.get(window.repeat)
    if period is not None and at >= stop:
        passed = (at - stop) // period + 1
        start, stop = start + passed * period, stop + passed * period
    return (start, stop) if at < stop else None


def is_ongoing(window: MaintenanceWindow, at: datetime) -> bool:
    found = occurrence(window, at)
    return found is not None and found[0] <= at
