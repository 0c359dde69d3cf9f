"""The list of alerts, and one alert: what became of it, what to do, and who looks after it."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.timezone import now
from django.views.decorators.http import conditional_page, require_POST, require_safe

from observatory.alerts.judging.condition_history import course_of, unit_of_alert
from observatory.alerts.models import Alert, Rule
from observatory.alerts.silences.form import SilenceForm
from observatory.alerts.silences.silencing import Quiet
from observatory.alerts.web import access
from observatory.alerts.web.acknowledging import acknowledge
from observatory.alerts.web.listing import AlertFilter, find_alerts
from observatory.clusters.access import visible_clusters
from observatory.pages.alerts.forms import STATES, AlertFilterForm
from observatory.pages.alerts.history_chart import drawing_of
from observatory.pages.site.context import firing_flag

PAGE_SIZE = 50
LARGEST_ID = 2**31 - 1
COLUMNS = (
    ("rule", "Alert", ""),
    ("severity", "Severity", "-"),
    ("cluster", "Cluster", ""),
    ("since", "Since (UTC)", "-"),
)
"""that sort: what the query says, the heading, and how the first click sorts"""


@require_safe
def alert_list(request: HttpRequest) -> HttpResponse:
    user = cast(User, request.user)
    form = AlertFilterForm(user, request.GET)
    wanted = form.wanted()
    page = Paginator(find_alerts(user, wanted), PAGE_SIZE).get_page(request.GET.get("page"))
    ids, quiet = [alert.pk for alert in page], Quiet(now())
    answerable = set(access.answerable_alerts(user).filter(pk__in=ids).values_list("pk", flat=True))
    context: dict[str, Any] = {
        "page": page,
        "rows": [(alert, alert.pk in answerable, _quiet(quiet, alert)) for alert in page],
        "form": form,
        "state": form.shown_state,
        "states": STATES,
        "columns": [(*column, wanted.order.removeprefix("-") == column[0]) for column in COLUMNS],
        "order": wanted.order,
        "cluster": visible_clusters(user).filter(pk=wanted.cluster).first() if wanted.cluster else None,
        "is_filtered": wanted != AlertFilter(state=wanted.state, order=wanted.order) or not form.is_valid(),
        "now": now(),
    }
    if not page.object_list:
        context |= {
            "rules": Rule.objects.filter(enabled=True).count(),
            "live": visible_clusters(user).filter(ended=None).count(),
        }
    return render(request, "pages/alerts/alerts.html", context)


@require_safe
def alert_page(request: HttpRequest, alert_id: int) -> HttpResponse:
    return _page(request, access.get_alert(cast(User, request.user), alert_id))


@require_safe
def alert_course(request: HttpRequest, alert_id: int) -> HttpResponse:
    """The chart of an alert, which its page asks for; empty where there is nothing to draw."""
    alert = access.get_alert(cast(User, request.user), alert_id)
    try:
        course = course_of(alert)
    except ValueError:
        course = None  # the rule says on its own page why it can't be judged
    context = {"alert": alert, "drawing": course and drawing_of(alert, course)}
    return render(request, "pages/alerts/alert_course.html", context)


@require_POST
def acknowledge_alert(request: HttpRequest, alert_id: int) -> HttpResponse:
    alert = access.get_alert_to_answer(cast(User, request.user), alert_id)
    acknowledge(alert, cast(User, request.user), request.POST.get("note", ""))
    messages.success(request, f"“{alert.rule.name}” is acknowledged.")
    return redirect(_back(request, alert))


@require_POST
def silence_alert(request: HttpRequest, alert_id: int) -> HttpResponse:
    alert = access.get_alert_to_answer(cast(User, request.user), alert_id)
    form = SilenceForm(alert, cast(User, request.user), request.POST)
    if not form.is_valid():
        return _page(request, alert, form)
    silence = form.save()
    messages.success(request, f"Silenced until {silence.expires:%Y-%m-%d %H:%M} UTC: nobody is told.")
    return redirect(_back(request, alert))


@require_safe
@conditional_page
def flag(request: HttpRequest) -> HttpResponse:
    """What the header of a page, of `?cluster=` or of none, shows now."""
    text = request.GET.get("cluster", "")
    cluster = int(text) if text.isdecimal() and len(text) <= 10 and int(text) <= LARGEST_ID else None
    return render(request, "pages/alerts/alert_flag.html", firing_flag(cast(User, request.user), cluster))


def _page(request: HttpRequest, alert: Alert, form: SilenceForm | None = None) -> HttpResponse:
    user = cast(User, request.user)
    context = {
        "alert": alert,
        "current_project": alert.cluster.project,
        "deliveries": alert.deliveries.select_related("channel").order_by("created", "pk"),
        "quiet": _quiet(Quiet(now()), alert),
        "unit": _unit(alert),
        "may_answer": access.may_answer_alerts(user, alert),
        "form": form or SilenceForm(alert, user),
        "now": now(),
    }
    return render(request, "pages/alerts/alert.html", context, status=422 if form else 200)


def _unit(alert: Alert) -> str:
    """Of its values; "" for a rule that can't be judged, which says so on its own page."""
    try:
        return unit_of_alert(alert)
    except ValueError:
        return ""


def _quiet(quiet: Quiet, alert: Alert) -> str:
    """Why nobody is told of it now; "" of what is over."""
    return quiet.reason(alert) if alert.resolved is None else ""


def _back(request: HttpRequest, alert: Alert) -> str:
    """The page that the request came from."""
    back = request.POST.get("back", "")
    is_ours = url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    return back if is_ours else reverse("alert", args=[alert.pk])
