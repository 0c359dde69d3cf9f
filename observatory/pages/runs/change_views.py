"""Changes to runs: the settings of one, and actions on those selected in a list."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from observatory.clusters.formatting import format_count
from observatory.pages.runs.run_views import run_frame, run_of
from observatory.pages.site.own_urls import back_url
from observatory.runs import access
from observatory.runs.api import ONLY_EDITORS
from observatory.runs.forms import RunForm
from observatory.runs.models import Run
from observatory.runs.tags import bounded, parse_tag

MOST_AT_ONCE = 200


@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest, run_id: int) -> HttpResponse:
    """A run's name, tags and pin."""
    run = run_of(request, run_id)
    frame = run_frame(request, run, "settings")
    if not frame["may_change"]:
        raise PermissionDenied(ONLY_EDITORS)
    name = run.name
    form = RunForm(request.POST if request.method == "POST" else None, instance=run)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, f"{run.name} is saved.")
        return redirect("run-settings", run_id)
    context = {**frame, "name": name, "form": form}
    return render(request, "pages/runs/settings.html", context, status=422 if form.errors else 200)


@require_POST
def change(request: HttpRequest) -> HttpResponse:
    """Applies `action` to the selected runs; comparing needs two, deleting a confirmation."""
    action = request.POST.get("action", "")
    if action == "compare":
        return _compare(request)
    runs = _selected(request)
    if not runs:
        messages.error(request, "Select some runs first.")
    elif action == "delete":
        return _confirm_deletion(request, runs)
    elif action in ("pin", "unpin"):
        changed = runs.exclude(pinned=action == "pin").update(pinned=action == "pin")
        messages.success(request, f"{_runs_are(changed)} {action}ned.")
    elif action in ("tag", "untag"):
        _tag(request, runs, action == "tag")
    else:
        messages.error(request, "Choose an action for the selected runs.")
    return redirect(back_url(request, reverse("runs")))


@require_POST
def delete(request: HttpRequest) -> HttpResponse:
    """Deletes runs and the links to them, after the confirmation."""
    runs = _selected(request)
    number = len(runs)
    runs.delete()
    messages.success(request, f"{_runs_are(number)} deleted. The records of their clusters stay.")
    return redirect(back_url(request, reverse("runs")))


def _compare(request: HttpRequest) -> HttpResponse:
    """Redirects to the comparison of the newer of two runs with the older one."""
    found = access.visible_runs(cast(User, request.user)).filter(pk__in=_selected_ids(request))
    ids = list(found.order_by("-start", "-pk").values_list("pk", flat=True))
    if len(ids) != 2:
        selected = "None is" if not ids else "One is" if len(ids) == 1 else f"{format_count(len(ids))} are"
        messages.error(request, f"Select two runs to compare them. {selected} selected.")
        return redirect(back_url(request, reverse("runs")))
    return redirect(f"{reverse('runs-compare')}?a={ids[0]}&b={ids[1]}")


def _confirm_deletion(request: HttpRequest, runs: QuerySet[Run]) -> HttpResponse:
    runs = runs.select_related("cluster").annotate(links=Count("permalinks")).order_by("-links", "-start")
    links = sum(run.links for run in runs)
    context = {"runs": runs, "links": links, "back": back_url(request, reverse("runs"))}
    return render(request, "pages/runs/delete.html", context)


def _tag(request: HttpRequest, runs: QuerySet[Run], add: bool) -> None:
    try:
        name, value = parse_tag(request.POST.get("tag", ""))
        with transaction.atomic():
            # locked, so that concurrent changes of tags don't overwrite each other
            locked = list(runs.select_for_update())
            for run in locked:
                remaining = {other: text for other, text in run.tags.items() if other != name}
                run.tags = bounded({**run.tags, name: value}) if add else remaining
            Run.objects.bulk_update(locked, ["tags"])
    except ValidationError as error:
        messages.error(request, f"No tag was changed. {error.messages[0]}")
    else:
        messages.success(
            request, f"{_runs_are(len(locked))} changed: the tag “{name}” is {'set' if add else 'removed'}."
        )


def _selected(request: HttpRequest) -> QuerySet[Run]:
    """The selected runs that still exist. Raises PermissionDenied if the user can't change one of them."""
    user, ids = cast(User, request.user), _selected_ids(request)
    found = access.changeable_runs(user).filter(pk__in=ids)
    if found.count() < access.visible_runs(user).filter(pk__in=ids).count():
        raise PermissionDenied(ONLY_EDITORS)
    return found


def _selected_ids(request: HttpRequest) -> list[int]:
    texts = request.POST.getlist("run")[:MOST_AT_ONCE]
    return [int(text) for text in texts if text.isdecimal() and len(text) < 10]


def _runs_are(number: int) -> str:
    return "One run is" if number == 1 else f"{format_count(number)} runs are"
