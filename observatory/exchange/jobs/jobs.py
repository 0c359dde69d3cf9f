"""Starts, finds and cancels jobs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import Http404
from django.utils.timezone import now

from observatory.clusters.access import visible_projects
from observatory.clusters.background_work import OPEN
from observatory.clusters.limits.rates import EXPORTS, take
from observatory.clusters.models import Project
from observatory.exchange.formats import FORMATS
from observatory.exchange.jobs import folder
from observatory.exchange.models import Job
from observatory.exchange.tasks import work
from observatory.runs.models import Run

MOST_AT_ONCE = 3
"""waiting and running jobs of one user"""
MOST_KEPT = 20
"""jobs of one user; the oldest are removed with their files"""
UNSAFE = re.compile(r"[^\w.+-]+")


class TooMany(ValueError):
    """The user has MOST_AT_ONCE waiting and running jobs."""


def visible_jobs(user: User) -> QuerySet[Job]:
    """Jobs that `user` started, in projects that `user` may still see."""
    found = Job.objects.filter(user=user, project__in=visible_projects(user))
    return found.select_related("run", "run__cluster", "project")


def get_job(user: User, job_id: int) -> Job:
    """Raises Http404, the same for a job that doesn't exist and for another user's."""
    job = visible_jobs(user).filter(pk=job_id).first()
    if job is None:
        raise Http404("This export or import doesn't exist, or it isn't yours.")
    return job


def start_export(user: User, run: Run, format: str) -> Job:
    """Raises TooMany, TooFast, and KeyError for an unknown format."""
    suffix, project = FORMATS[format].suffix, run.cluster.project
    _refuse_too_many(user)
    take(EXPORTS, project)
    name = UNSAFE.sub("-", run.name).strip("-.")[:100] or "run"
    return _start(
        Job(
            kind=Job.Kind.EXPORT,
            user=user,
            run=run,
            project=project,
            format=format,
            file_name=name + suffix,
        )
    )


def start_import(user: User, project: Project, file_name: str, parts: Iterable[bytes], name: str = "") -> Job:
    """Saves the file and starts its import. Raises TooMany, and OSError if the disk is full."""
    job = Job(kind=Job.Kind.IMPORT, user=user, project=project, name=name, file_name=file_name[:255])
    return _start(job, parts)


def start_attaching(
    user: User, run: Run, file_name: str, parts: Iterable[bytes], start: datetime | None, worker: str
) -> Job:
    """Saves the file and starts attaching it. Raises TooMany, and OSError if the disk is full."""
    job = Job(
        kind=Job.Kind.ATTACH,
        user=user,
        run=run,
        project=run.cluster.project,
        file_name=file_name[:255],
        start=start,
        worker=worker,
    )
    return _start(job, parts)


def _start(job: Job, parts: Iterable[bytes] = ()) -> Job:
    _refuse_too_many(job.user)
    job.save()
    if job.kind != Job.Kind.EXPORT:
        try:
            with folder.create(job.pk) as file:
                for part in parts:
                    file.write(part)
                job.size = file.tell()
        except BaseException:
            folder.remove(job.pk)
            job.delete()
            raise
        job.save(update_fields=["size"])
    transaction.on_commit(lambda: work.delay(job.pk))
    return job


def cancel(job: Job) -> bool:
    """Returns whether the job was open. A running job stops within about a second."""
    over = {"state": Job.State.CANCELLED, "finished": now()}
    cancelled = Job.objects.filter(pk=job.pk, state__in=OPEN).update(**over)
    waited = job.state == Job.State.WAITING
    if cancelled and waited:
        folder.remove(job.pk)
    return bool(cancelled)


def _refuse_too_many(user: User) -> None:
    if Job.objects.filter(user=user, state__in=OPEN).count() >= MOST_AT_ONCE:
        raise TooMany(
            f"{MOST_AT_ONCE} of your exports and imports are waiting or running. Wait for one, or cancel it."
        )
    over = Job.objects.filter(~Q(state__in=OPEN), user=user)
    for old in over[MOST_KEPT - MOST_AT_ONCE :]:
        folder.remove(old.pk)
        old.delete()
