"""Export of a run."""

from __future__ import annotations

from typing import cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from observatory.exchange.formats import FORMATS
from observatory.exchange.jobs import jobs
from observatory.exchange.models import Job
from observatory.pages.runs.run_views import run_frame, run_of


@require_http_methods(["GET", "HEAD", "POST"])
def run_export(request: HttpRequest, run_id: int) -> HttpResponse:
    """The formats and recent exports; POST starts an export."""
    user = cast(User, request.user)
    run = run_of(request, run_id)
    problem = ""
    if request.method == "POST":
        try:
            return redirect("job", jobs.start_export(user, run, request.POST.get("format", "")).pk)
        except KeyError:
            problem = "Choose one of these formats."
        except jobs.TooMany as error:
            problem = str(error)
    context = {
        **run_frame(request, run, "export"),
        "formats": FORMATS.values(),
        "problem": problem,
        "jobs": jobs.visible_jobs(user).filter(run=run, kind=Job.Kind.EXPORT)[:10],
    }
    return render(request, "pages/exchange/export.html", context, status=422 if problem else 200)
