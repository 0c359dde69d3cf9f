"""What was found around an alert: all for its page, and the first for notifications about it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import psycopg
from django.utils.timezone import now

from observatory.alerts.models import Alert
from observatory.alerts.web.about_runs import run_of
from observatory.alerts.web.links import AROUND
from observatory.replay.scope import Scope
from observatory.runs.models import RunFindings
from observatory.store.connection import build_connection
from observatory.store.times import to_microseconds
from observatory.why.findings.answer import findings
from observatory.why.window import TooManyTasks

log = logging.getLogger(__name__)

LONGEST = timedelta(minutes=30)
"""of the window of an alert"""
SHORTEST = timedelta(seconds=5)
"""of a window that is made shorter because it has too many tasks"""
MOST_SPANS = 30_000
"""actions of tasks that are looked at for a notification: it must not wait for a window of millions"""
MOST_ALERTS = 3
"""of a message that are looked at"""
BUDGET = 10.0
"""seconds that the notifications of a channel wait for findings"""
LONGEST_SENTENCE = 1_000


def window_of(alert: Alert) -> tuple[datetime, datetime]:
    """From before the condition became true until the alert was over."""
    start = alert.pending - timedelta(seconds=AROUND)
    return start, min(alert.resolved or now(), start + LONGEST)


def findings_around(connection: psycopg.Connection, alert: Alert) -> dict[str, Any]:
    """The API's answer for the window of an alert. Raises TooManyTasks."""
    start, stop = map(to_microseconds, window_of(alert))
    return findings(connection, Scope(alert.cluster), start, stop)


class FirstFindings:
    """Looks for the first findings of alerts for BUDGET seconds at most, and keeps them with the alerts."""

    def __init__(self) -> None:
        self._until = time.monotonic() + BUDGET

    def keep(self, alerts: Iterable[Alert]) -> None:
        """Look for those of the first alerts that have none."""
        for alert in islice((alert for alert in alerts if not alert.finding), MOST_ALERTS):
            if time.monotonic() < self._until:
                alert.finding = _first_finding(alert)[:LONGEST_SENTENCE]
                alert.save(update_fields=["finding"])


def _first_finding(alert: Alert) -> str:
    """The sentence of the first finding of the alert's run, else of its window; "" where there is none."""
    run = run_of(alert)
    kept = run.known_findings if run is not None else None
    if kept is not None and kept.state in (RunFindings.State.FOUND, RunFindings.State.MARKED):
        return kept.sentence
    try:
        with build_connection() as connection:
            return _first_around(connection, alert)
    except Exception:  # the notification is more important than what it says about the cause
        log.exception("couldn't look for findings of alert %d", alert.pk)
        return ""


def _first_around(connection: psycopg.Connection, alert: Alert) -> str:
    start, stop = window_of(alert)
    middle = min(alert.fired or alert.pending, stop)
    while stop - start >= SHORTEST:
        window = to_microseconds(start), to_microseconds(stop)
        try:
            found = findings(connection, Scope(alert.cluster), *window, MOST_SPANS)["findings"]
        except TooManyTasks:
            start, stop = middle - (middle - start) / 4, middle + (stop - middle) / 4
        else:
            return str(found[0]["sentence"]) if found else ""
    return ""
