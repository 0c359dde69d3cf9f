"""Page of an export or import job: progress, cancel, result."""

from __future__ import annotations

from typing import cast

from django.contrib.auth.models import User
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST, require_safe

from observatory.exchange.formats import FORMATS
from observatory.exchange.jobs import jobs
from observatory.exchange.jobs.download import export_file
from observatory.exchange.models import Job


@require_safe
def job_page(request: HttpRequest, job_id: int) -> HttpResponse:
    job = _job(request, job_id)
    return render(request, "pages/exchange/job.html", {"job": job, "format": FORMATS.get(job.format)})


@require_POST
def cancel(request: HttpRequest, job_id: int) -> HttpResponse:
    jobs.cancel(_job(request, job_id))
    return redirect("job", job_id)


@require_GET
def download(request: HttpRequest, job_id: int) -> FileResponse:
    """The file of a finished export."""
    return export_file(_job(request, job_id))


def _job(request: HttpRequest, job_id: int) -> Job:
    return jobs.get_job(cast(User, request.user), job_id)
