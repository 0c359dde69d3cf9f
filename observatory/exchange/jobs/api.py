"""REST API of export and import jobs."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.urls import reverse
from ninja import Router, Schema

from observatory.exchange.jobs.jobs import get_job
from observatory.exchange.models import Job

router = Router(tags=["exports and imports"])


class JobOut(Schema):
    id: int
    kind: str
    state: str
    progress: float
    """from 0 to 1"""
    message: str
    file_name: str
    size: int
    """bytes; 0 until the job is done"""
    download: str | None
    """path of the file of a finished export"""
    run: int | None
    """the exported or imported run"""


@router.get("/jobs/{int:job_id}", response=JobOut)
def job(request: HttpRequest, job_id: int) -> dict[str, Any]:
    """One of your exports or imports."""
    found = get_job(cast(User, request.user), job_id)
    is_download = found.kind == Job.Kind.EXPORT and found.state == Job.State.DONE
    return {
        "id": found.pk,
        "kind": found.kind,
        "state": found.state,
        "progress": found.progress,
        "message": found.message,
        "file_name": found.file_name,
        "size": found.size,
        "download": reverse("job-download", args=[found.pk]) if is_download else None,
        "run": found.run_id,
    }
