"""Celery tasks of exports, imports, attachments, and of sending runs to receivers."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
from celery import shared_task
from django.utils.timezone import now

from observatory.clusters.background_work import OPEN
from observatory.exchange.attachments.attach import Placement, attach
from observatory.exchange.formats import FORMATS
from observatory.exchange.formats.base import Cancelled
from observatory.exchange.imports.destination import Destination
from observatory.exchange.imports.import_file import import_file
from observatory.exchange.imports.refusal import AlreadyHere, Refused
from observatory.exchange.jobs import folder
from observatory.exchange.jobs.progress import progress_of
from observatory.exchange.models import Job
from observatory.exchange.receivers import delivery
from observatory.replay.tasks import build_if_unlocked
from observatory.runs.sharing.scopes import scope_of_run
from observatory.store.connection import connect
from observatory.store.maintenance.advisory_lock import try_lock
from observatory.store.times import to_microseconds

log = logging.getLogger(__name__)

KEPT = timedelta(days=1)
"""files and jobs"""
LONGEST_WAIT = timedelta(hours=2)
EXPIRES = 30
"""seconds; the next round creates the tasks again that waited for longer"""


@shared_task  # type: ignore[untyped-decorator]
def work(job_id: int) -> None:
    """Runs a job. Its advisory lock shows that it is running, and is released if this process dies."""
    with connect() as connection, try_lock(connection, job_id) as is_ours:
        waiting = Job.objects.filter(pk=job_id, state=Job.State.WAITING)
        if not is_ours or not waiting.update(state=Job.State.RUNNING):
            return  # cancelled or deleted while it waited
        job = Job.objects.select_related("run", "run__cluster", "project", "user").get(pk=job_id)
        try:
            done = WORK[Job.Kind(job.kind)](job)
            _finish(job, Job.State.DONE, progress=1.0, **done)
        except Cancelled:
            folder.remove(job.pk)
        except Refused as refusal:
            run = refusal.run if isinstance(refusal, AlreadyHere) else job.run_id
            _finish(job, Job.State.FAILED, message=str(refusal)[:1000], run_id=run)
        except OSError as error:
            log.exception("job %d failed", job.pk)
            _finish(
                job, Job.State.FAILED, message=f"The file can't be written or read: {error.strerror}."[:1000]
            )
        except psycopg.errors.DiskFull:
            message = "The disk of the database is full. Free disk space, then try again."
            _finish(job, Job.State.FAILED, message=message)
        except Exception:
            log.exception("job %d failed", job.pk)
            message = "Unexpected error; the worker's log has the details. Try again."
            _finish(job, Job.State.FAILED, message=message)


@shared_task  # type: ignore[untyped-decorator]
def sweep_jobs() -> None:
    """Fails jobs whose worker died, and removes jobs that ended a day ago with their files."""
    if running := list(Job.objects.filter(state=Job.State.RUNNING)):
        with connect() as connection:
            for job in running:
                with try_lock(connection, job.pk) as nobody_does:
                    if nobody_does:
                        _finish(job, Job.State.FAILED, message="The worker process died. Try again.")
    for job in Job.objects.filter(state=Job.State.WAITING, created__lt=now() - LONGEST_WAIT):
        message = "No worker started this job. Check with `dask-observatory doctor`."
        _finish(job, Job.State.FAILED, message=message)
    for job in Job.objects.exclude(state__in=OPEN).filter(finished__lt=now() - KEPT):
        folder.remove(job.pk)
        job.delete()
    folder.remove_older(2 * KEPT.total_seconds())


@shared_task  # type: ignore[untyped-decorator]
def send_runs() -> None:
    """Starts a task for each receiver to which runs are to be sent, so that a slow one delays no other."""
    for receiver in delivery.due_receivers(now()):
        send_runs_to.apply_async((receiver,), expires=EXPIRES)


@shared_task  # type: ignore[untyped-decorator]
def send_runs_to(receiver: int) -> None:
    delivery.deliver_to(receiver, now())


def _export(job: Job) -> dict[str, Any]:
    """Writes the file; returns changed fields of the job. Raises Cancelled."""
    assert job.run is not None
    scope = scope_of_run(job.run)
    # an open run is exported up to now
    scope = replace(scope, stop=min(scope.stop, to_microseconds(now())))
    with folder.create(job.pk) as file:
        FORMATS[job.format].write(scope, job.run.name, file, progress_of(job))
        return {"size": file.seek(0, 2)}


def _import(job: Job) -> dict[str, Any]:
    """Creates the run; returns changed fields of the job. Raises Refused and Cancelled."""
    destination = Destination(job.project, job.user, job.name)
    reports: list[str] = []
    run = import_file(folder.path_of(job.pk), destination, progress_of(job), reports.append)
    build_if_unlocked(run.cluster)
    return {"run_id": run.pk, "message": " ".join(reports)[:1000]}


def _attach(job: Job) -> dict[str, Any]:
    """Attaches the file to the job's run; returns changed fields of the job. Raises Refused and Cancelled."""
    assert job.run is not None
    placement = Placement(job.start, job.worker)
    made = attach(folder.path_of(job.pk), job.file_name, job.run, placement, job.user, progress_of(job))
    return {"message": made.remarks[:1000]}


WORK = {Job.Kind.EXPORT: _export, Job.Kind.IMPORT: _import, Job.Kind.ATTACH: _attach}


def _finish(job: Job, state: str, **fields: Any) -> None:
    """Ends a job unless it was cancelled. Keeps its file only if it can be downloaded."""
    is_download = state == Job.State.DONE and job.kind == Job.Kind.EXPORT
    changed = Job.objects.filter(pk=job.pk, state__in=OPEN).update(state=state, finished=now(), **fields)
    if not changed or not is_download:
        folder.remove(job.pk)
