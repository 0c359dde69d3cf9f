"""Profiles and traces that are attached to a run."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from observatory.exchange.attachments.attach import remove
from observatory.exchange.attachments.changes import ONLY_EDITORS, AttachForm, ShiftForm
from observatory.exchange.jobs import jobs
from observatory.exchange.models import Job
from observatory.pages.runs.run_views import run_frame, run_of
from observatory.runs.access import may_change_runs
from observatory.runs.models import Attachment, Run


@require_http_methods(["GET", "HEAD", "POST"])
def run_attachments(request: HttpRequest, run_id: int) -> HttpResponse:
    """The attached files; POST attaches one."""
    user = cast(User, request.user)
    run = run_of(request, run_id)
    frame = run_frame(request, run, "attachments")
    form = AttachForm(run)
    if request.method == "POST":
        if not frame["may_change"]:
            raise PermissionDenied(ONLY_EDITORS)
        form = AttachForm(run, request.POST, request.FILES)
        if form.is_valid():
            values = form.cleaned_data
            file = values["file"]
            try:
                job = jobs.start_attaching(
                    user, run, file.name, file.chunks(), values["start"], values["worker"]
                )
            except jobs.TooMany as error:
                form.add_error(None, str(error))
            except OSError as error:
                form.add_error("file", f"The file can't be saved: {error.strerror}.")
            else:
                return redirect("job", job.pk)
    context = {
        **frame,
        "form": form,
        "limit": settings.IMPORT_LIMIT >> 20,
        "attachments": [
            {"attachment": each, "after": (each.start - run.start).total_seconds()}
            for each in run.attachments.defer("stacks").select_related("created_by")
        ],
        "jobs": jobs.visible_jobs(user).filter(run=run, kind=Job.Kind.ATTACH)[:10],
    }
    return render(request, "pages/exchange/attachments.html", context, status=422 if form.errors else 200)


@require_POST
def shift_attachment(request: HttpRequest, run_id: int, attachment_id: int) -> HttpResponse:
    attachment = _changeable(request, run_id, attachment_id)
    form = ShiftForm(attachment, request.POST)
    if form.is_valid():
        form.save()
        messages.success(request, f"{attachment.name} is shifted.")
    else:
        messages.error(request, " ".join(map(str, form.errors["start"])))
    return redirect("run-attachments", run_id)


@require_POST
def remove_attachment(request: HttpRequest, run_id: int, attachment_id: int) -> HttpResponse:
    attachment = _changeable(request, run_id, attachment_id)
    remove(attachment)
    messages.success(request, f"{attachment.name} is removed.")
    return redirect("run-attachments", run_id)


def _changeable(request: HttpRequest, run_id: int, attachment_id: int) -> Attachment:
    run: Run = run_of(request, run_id)
    if not may_change_runs(cast(User, request.user), run):
        raise PermissionDenied(ONLY_EDITORS)
    return get_object_or_404(Attachment.objects.defer("stacks"), pk=attachment_id, run=run)
