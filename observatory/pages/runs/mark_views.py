"""The list of findings that people marked as known or wrong."""

from __future__ import annotations

from typing import cast
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from observatory.clusters.access import projects_to_set_targets_in
from observatory.pages.site.query import query_text
from observatory.runs.finding_marks import visible_marks
from observatory.why.findings.kinds import finding_kinds
from observatory.why.marks.api import unmark

PAGE_SIZE = 50


@require_safe
def mark_list(request: HttpRequest) -> HttpResponse:
    """The marks in the person's projects, or those of runs of the `name`, the newest first."""
    user, name = cast(User, request.user), query_text(request, "name")
    found = visible_marks(user)
    if name:
        found = found.filter(run_name=name)
    page = Paginator(found, PAGE_SIZE).get_page(request.GET.get("page"))
    kinds, changeable = finding_kinds(), set(projects_to_set_targets_in(user).values_list("pk", flat=True))
    rows = [
        (mark, kinds[mark.kind].title if mark.kind in kinds else mark.kind, mark.project_id in changeable)
        for mark in page
    ]
    context = {"rows": rows, "page": page, "name": name, "query": urlencode({"name": name} if name else {})}
    return render(request, "pages/runs/marks.html", context)


@require_POST
def remove_mark(request: HttpRequest, mark_id: int) -> HttpResponse:
    user = cast(User, request.user)
    mark = get_object_or_404(visible_marks(user), pk=mark_id)
    unmark(user, mark)
    messages.success(request, f"The mark is removed: the finding is shown again in runs “{mark.run_name}”.")
    return redirect("finding-marks")
