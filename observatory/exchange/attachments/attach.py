"""Attaches profiles and traces to runs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from observatory.exchange.attachments.binned_stacks import StackBinner
from observatory.exchange.attachments.reading import read_recorded_file
from observatory.exchange.attachments.recorded_file import RecordedFile
from observatory.exchange.formats.base import Progress
from observatory.exchange.imports.refusal import Refused
from observatory.runs.models import Attachment, Run
from observatory.runs.refresh import end_of
from observatory.store.connection import read_connection
from observatory.store.queries.worker_processes import WorkerProcess, worker_processes
from observatory.store.times import from_seconds
from observatory.wire.records import clean_text

MOST_ATTACHED = 20
"""of a run"""
ALREADY_THERE = "This file is attached to the run already."
INTERVALS_BETWEEN_REPORTS = 50_000
"""intervals between two reports of the progress"""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a file lies on the timeline."""

    start: datetime | None = None
    """when it begins, on the scheduler's clock; None: as the file tells, else with the run"""
    worker: str = ""
    """name or address of the worker; "": by the ids of the file's processes"""


def attach(
    path: Path, name: str, run: Run, placement: Placement, user: User | None, progress: Progress
) -> Attachment:
    """Reads a file and attaches it to a run.

    Raises Refused with the reason, Cancelled, and psycopg.Error. Nothing is stored then.
    """
    if path.stat().st_size > settings.IMPORT_LIMIT:
        raise Refused(f"The file has more than {settings.IMPORT_LIMIT >> 20:,} MiB.")
    if run.attachments.count() >= MOST_ATTACHED:
        raise Refused(f"The run has {MOST_ATTACHED} attached files already: remove one.")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if run.attachments.filter(digest=digest).exists():
        raise Refused(ALREADY_THERE)
    workers = _workers_of(run)
    if placement.worker and not any(placement.worker in (each.name, each.address) for each in workers):
        raise Refused(f"The run has no worker {placement.worker[:100]!r}.")
    recorded = read_recorded_file(path)
    stacks = _binned(recorded, progress)
    start = placement.start or (run.start if recorded.began is None else from_seconds(recorded.began))
    remarks = [*recorded.remarks, *_far_away(run, start, recorded.seconds)]
    try:
        with transaction.atomic():
            made = Attachment.objects.create(
                run=run,
                name=clean_text(name, 255),
                format=recorded.format,
                digest=digest,
                start=start,
                seconds=recorded.seconds,
                is_dated=recorded.began is not None,
                threads=_threads(recorded, placement, workers, start),
                stacks=stacks,
                remarks=" ".join(remarks),
                created_by=user,
            )
            _count(run)
            return made
    except IntegrityError:
        raise Refused(ALREADY_THERE) from None


def remove(attachment: Attachment) -> None:
    with transaction.atomic():
        attachment.delete()
        _count(attachment.run)


def _count(run: Run) -> None:
    """Lets the run know how many files are attached to it: its page asks for them where there are any."""
    Run.objects.filter(pk=run.pk).update(attached_files=Attachment.objects.filter(run=run).count())


def _binned(recorded: RecordedFile, progress: Progress) -> bytes:
    binner = StackBinner(recorded.seconds)
    progress(0.5)
    for number, interval in enumerate(recorded.intervals):
        binner.add(interval)
        if number % INTERVALS_BETWEEN_REPORTS == 0:
            progress(0.5)
    return binner.packed(recorded.tree)


def _workers_of(run: Run) -> list[WorkerProcess]:
    with read_connection() as connection:
        return worker_processes(connection, run.cluster_id, run.start, end_of(run))


def _threads(
    recorded: RecordedFile, placement: Placement, workers: list[WorkerProcess], start: datetime
) -> list[dict[str, Any]]:
    return [
        {
            "process": clean_text(thread.process, 200),
            "name": clean_text(thread.name, 200),
            "worker": _worker(thread.pid, placement.worker, workers, start),
        }
        for thread in recorded.threads
    ]


def _worker(pid: int | None, named: str, workers: list[WorkerProcess], start: datetime) -> int | None:
    """The id of a thread's worker; None: it isn't told, or several have the process's id."""
    if named:
        found = [each for each in workers if named in (each.name, each.address)]
    else:
        found = [each for each in workers if pid is not None and each.pid == str(pid)]
    going_on = [each for each in found if each.ended is None or each.ended > start] or found
    return going_on[0].id if named and going_on else going_on[0].id if len(going_on) == 1 else None


def _far_away(run: Run, start: datetime, seconds: float) -> list[str]:
    """Says so where the file lies beside the run."""
    stop = start + timedelta(seconds=seconds)
    if start < end_of(run) and stop > run.start:
        return []
    return [f"The file lies beside the run: it begins at {start:%Y-%m-%d %H:%M:%S} UTC. Shift it."]
