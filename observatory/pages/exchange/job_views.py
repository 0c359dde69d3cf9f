"""Page of an export or import job: progress, cancel, result."""

from __future__ import annotations

from typing import cast

from django.contrib.auth.models import User
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST, require_safe

from observatory.exchange.formats import FORMATS
from observatory.exchange.jobs import folder, jobs
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
    job = _job(request, job_id)
    format = FORMATS.get(job.format)
    if job.kind != Job.Kind.EXPORT or job.state != Job.State.DONE or format is None:
        raise Http404("This job has no file to download.")
    try:
        file = folder.path_of(job.pk).open("rb")
    except FileNotFoundError:
        raise Http404("The file was deleted after a day. Export the run again.") from None
    return FileResponse(file, as_attachment=True, filename=job.file_name, content_type=format.content_type)


def _job(request: HttpRequest, job_id: int) -> Job:
    return jobs.get_job(cast(User, request.user), job_id)
