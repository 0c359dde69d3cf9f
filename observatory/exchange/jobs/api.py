"""REST API of jobs: exports, imports, and files that are attached to runs."""

from __future__ import annotations

from typing import Annotated, Any, cast

from django.contrib.auth.models import User
from django.http import FileResponse, HttpRequest
from django.urls import reverse
from ninja import Field, Router, Schema, Status

from observatory.clusters.refusal import Refusal, refusal
from observatory.clusters.tokens.api_sign_in import Scope, SessionOrToken
from observatory.exchange.formats import FORMATS
from observatory.exchange.jobs.download import export_file
from observatory.exchange.jobs.jobs import TooMany, get_job, start_export
from observatory.exchange.models import Job
from observatory.runs.access import get_run

router = Router(tags=["exports and imports"])


class NewExport(Schema):
    format: Annotated[str, Field(max_length=50)] = ""


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
    """path of the file of a finished export, for a browser; programs read /jobs/{id}/file"""
    run: int | None
    """the exported or imported run, or the one that a file is attached to"""


@router.post(
    "/runs/{int:run_id}/exports",
    response={201: JobOut, 422: Refusal},
    auth=SessionOrToken(Scope.EXPORTS),
)
def export_run(request: HttpRequest, run_id: int, new: NewExport) -> Any:
    """Starts an export of a run. Its job says when the file is ready."""
    user = cast(User, request.user)
    run = get_run(user, run_id)
    if new.format not in FORMATS:
        return refusal({"format": [f"Choose one of these formats: {', '.join(FORMATS)}."]})
    try:
        return Status(201, job_document(start_export(user, run, new.format)))
    except TooMany as error:
        return refusal({"__all__": [str(error)]})


@router.get("/jobs/{int:job_id}", response=JobOut)
def job(request: HttpRequest, job_id: int) -> dict[str, Any]:
    """One of your exports or imports."""
    return job_document(get_job(cast(User, request.user), job_id))


@router.get("/jobs/{int:job_id}/file")
def job_file(request: HttpRequest, job_id: int) -> FileResponse:
    """The file of one of your finished exports."""
    return export_file(get_job(cast(User, request.user), job_id))


def job_document(found: Job) -> dict[str, Any]:
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
