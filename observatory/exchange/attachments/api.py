"""REST API of profiles and traces that are attached to runs."""

from __future__ import annotations

from typing import Annotated, Any, cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from ninja import File, Form, Router, Schema, Status, UploadedFile

from observatory.clusters.refusal import Refusal, refusal
from observatory.clusters.tokens.api_sign_in import Scope, SessionOrToken
from observatory.exchange.attachments.attach import remove
from observatory.exchange.attachments.changes import ONLY_EDITORS
from observatory.exchange.jobs.api import JobOut, job_document
from observatory.exchange.jobs.jobs import TooMany, start_attaching
from observatory.runs.access import get_run, may_change_runs
from observatory.runs.models import Attachment, Run
from observatory.store.times import from_seconds
from observatory.wire.records import is_time

CHANGES = SessionOrToken(Scope.RUNS)
NO_TIME = {"start": ["That is no time of this century, in seconds since the epoch."]}
router = Router(tags=["attachments"])


class AttachmentThread(Schema):
    process: str
    name: str
    worker: int | None
    """null: not known"""


class AttachmentOut(Schema):
    """Times are seconds since the epoch on the scheduler's clock."""

    id: int
    name: str
    format: str
    start: float
    stop: float
    is_dated: bool
    """whether the file itself tells when it begins"""
    threads: list[AttachmentThread]
    remarks: str
    """what the file doesn't tell"""


class Shift(Schema):
    start: float


@router.get("/runs/{int:run_id}/attachments", response=list[AttachmentOut])
def attachments(request: HttpRequest, run_id: int) -> list[dict[str, Any]]:
    """The profiles and traces that are attached to a run."""
    run = get_run(cast(User, request.user), run_id)
    return [_document(each) for each in run.attachments.defer("stacks")]


@router.post("/runs/{int:run_id}/attachments", response={201: JobOut, 422: Refusal}, auth=CHANGES)
def attach_file(
    request: HttpRequest,
    run_id: int,
    file: Annotated[UploadedFile | None, File()] = None,
    start: Annotated[float | None, Form()] = None,
    worker: Annotated[str, Form(max_length=500)] = "",
) -> Any:
    """Attaches a speedscope or Trace Event file, at most 16 MiB, also packed with gzip. Its job says when it
    is read. `start`: when it begins; without one as the file tells, else with the run."""
    run = _changeable(request, run_id)
    if file is None:
        return refusal({"file": ["Send a file, as multipart/form-data."]})
    if start is not None and not is_time(start):
        return refusal(NO_TIME)
    begins = None if start is None else from_seconds(start)
    try:
        job = start_attaching(
            cast(User, request.user), run, file.name or "file", file.chunks(), begins, worker
        )
    except TooMany as error:
        return refusal({"__all__": [str(error)]})
    return Status(201, job_document(job))


@router.patch(
    "/runs/{int:run_id}/attachments/{int:attachment_id}",
    response={200: AttachmentOut, 422: Refusal},
    auth=CHANGES,
)
def shift_attachment(request: HttpRequest, run_id: int, attachment_id: int, shift: Shift) -> Any:
    """Moves an attached file on the timeline."""
    attachment = _attachment(_changeable(request, run_id), attachment_id)
    if not is_time(shift.start):
        return refusal(NO_TIME)
    attachment.start = from_seconds(shift.start)
    attachment.save(update_fields=["start"])
    return Status(200, _document(attachment))


@router.delete("/runs/{int:run_id}/attachments/{int:attachment_id}", response={204: None}, auth=CHANGES)
def remove_attachment(request: HttpRequest, run_id: int, attachment_id: int) -> Any:
    """Removes an attached file."""
    remove(_attachment(_changeable(request, run_id), attachment_id))
    return Status(204, None)


def _changeable(request: HttpRequest, run_id: int) -> Run:
    """Raises Http404 and PermissionDenied."""
    user = cast(User, request.user)
    run = get_run(user, run_id)
    if not may_change_runs(user, run):
        raise PermissionDenied(ONLY_EDITORS)
    return run


def _attachment(run: Run, attachment_id: int) -> Attachment:
    found = run.attachments.defer("stacks").filter(pk=attachment_id).first()
    if found is None:
        raise Http404("Nothing with this number is attached to the run.")
    return found


def _document(attachment: Attachment) -> dict[str, Any]:
    start = attachment.start.timestamp()
    return {
        "id": attachment.pk,
        "name": attachment.name,
        "format": attachment.format,
        "start": start,
        "stop": start + attachment.seconds,
        "is_dated": attachment.is_dated,
        "threads": attachment.threads,
        "remarks": attachment.remarks,
    }
