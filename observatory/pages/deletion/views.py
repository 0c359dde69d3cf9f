"""The page that shows what a deletion removes and asks for the name, and the page of a deletion."""

from __future__ import annotations

from typing import cast

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from observatory.clusters.deletion import deletions
from observatory.clusters.deletion.amounts import from_json
from observatory.clusters.deletion.kind import kinds
from observatory.clusters.deletion.models import Deletion
from observatory.clusters.deletion.preview import preview


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest, kind: str, reference: str) -> HttpResponse:
    """What goes and what stays; POST with the name deletes it."""
    user = cast(User, request.user)
    found = kinds().get(kind)
    if found is None:
        raise Http404("There is nothing of this kind.")
    subject = deletions.referred_to_delete(found, user, reference)
    problem = ""
    if request.method == "POST":
        if request.POST.get("name", "").strip() == str(subject).strip():
            try:
                deletion = deletions.start(found, subject, user, Deletion.Door.PAGE)
            except deletions.Refused as refused:
                problem = str(refused)
            else:
                return redirect("deletion", deletion.pk)
        else:
            problem = f"That isn't the name of the {kind}. Nothing was deleted."
    context = {"shown": preview(found, subject), "problem": problem, "back": found.page_of(subject)}
    return render(request, "pages/deletion/confirm.html", context, status=422 if problem else 200)


@never_cache
@require_safe
def deletion_page(request: HttpRequest, deletion_id: int) -> HttpResponse:
    deletion = get_object_or_404(deletions.visible_deletions(cast(User, request.user)), pk=deletion_id)
    context = {"deletion": deletion, "gone": from_json(deletion.amounts)}
    return render(request, "pages/deletion/deletion.html", context)
