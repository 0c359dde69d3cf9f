"""Import of files."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from observatory.clusters import access
from observatory.exchange.jobs import jobs
from observatory.exchange.models import Job
from observatory.pages.exchange.forms import ImportForm


@require_http_methods(["GET", "HEAD", "POST"])
def import_page(request: HttpRequest) -> HttpResponse:
    """The form and recent imports; POST starts an import."""
    user = cast(User, request.user)
    if not access.projects_to_set_targets_in(user).exists():
        raise PermissionDenied("Only editors and owners of a project can import files.")
    form = ImportForm(user, request.POST, request.FILES) if request.method == "POST" else ImportForm(user)
    if form.is_valid():
        values = form.cleaned_data
        file = values["file"]
        try:
            job = jobs.start_import(user, values["project"], file.name, file.chunks(), values["name"])
        except jobs.TooMany as error:
            form.add_error(None, str(error))
        except OSError as error:
            form.add_error("file", f"The file can't be saved: {error.strerror}.")
        else:
            return redirect("job", job.pk)
    context = {
        "form": form,
        "limit": settings.IMPORT_LIMIT >> 20,
        "jobs": jobs.visible_jobs(user).filter(kind=Job.Kind.IMPORT)[:10],
    }
    return render(request, "pages/exchange/import.html", context, status=422 if form.errors else 200)
