"""Celery tasks of findings."""

from __future__ import annotations

import logging

import psycopg
from celery import shared_task
from django.db import DatabaseError

from observatory.runs import finding_marks
from observatory.why.findings.of_runs import look_at_new_runs

log = logging.getLogger(__name__)


@shared_task  # type: ignore[untyped-decorator]
def look_at_runs() -> None:
    """Finds what stands out in runs that have ended, as far as a round's time suffices."""
    try:
        look_at_new_runs()
    except (psycopg.Error, DatabaseError):
        log.exception("couldn't look at runs, will try again")


@shared_task  # type: ignore[untyped-decorator]
def keep_main_findings(project: int, run_name: str) -> None:
    """Chooses the main findings of all runs of a name once more."""
    finding_marks.keep_main_findings(project, run_name)
