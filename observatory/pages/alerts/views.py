"""The list of alerts, and the page of one alert: history, advice, acknowledgement and silences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.timezone import now
from django.views.decorators.http import conditional_page, require_POST, require_safe

from observatory.alerts.evaluation.condition_history import condition_history, unit_of_alert
from observatory.alerts.models import Alert
from observatory.alerts.notifying.decisions import with_alerts
from observatory.alerts.notifying.waiting import Waiting
from observatory.alerts.silences.alert_form import LASTS, UNTIL, SilenceAlertForm
from observatory.alerts.silences.suppression import Suppressions
from observatory.alerts.web import access
from observatory.alerts.web.acknowledgement import acknowledge
from observatory.alerts.web.groups import AlertGroup, find_groups, groups_of, single
from observatory.alerts.web.links import rule_url
from observatory.alerts.web.listing import AlertFilter, find_alerts
from observatory.base.pages import page_of_rows
from observatory.clusters.access import visible_clusters, visible_projects
from observatory.pages.alerts.forms import STATES, AlertFilterForm
from observatory.pages.alerts.history_chart import draw
from observatory.pages.site.context import firing_flag
from observatory.pages.site.own_urls import back_url

PAGE_SIZE = 50
MAX_ID = 2**31 - 1
COLUMNS = (
    ("rule", "Alert", ""),
    ("severity", "Severity", "-"),
    ("cluster", "Cluster", ""),
    ("since", "Since (UTC)", "-"),
)
"""sortable columns: query parameter, heading, prefix of the first sort order"""


@require_safe
def alert_list(request: HttpRequest) -> HttpResponse:
    user = cast(User, request.user)
    form = AlertFilterForm(user, request.GET)
    alert_filter = form.alert_filter()
    page, groups = _page_of_list(user, form, request.GET.get("page"))
    rows = _rows(user, groups)
    context: dict[str, Any] = {
        "page": page,
        "rows": rows,
        "may_answer": any(row.may_answer for row in rows),
        "lasts": [choice for choice in LASTS if choice[0] != UNTIL],
        "form": form,
        "has_group": any(row.group.count > 1 for row in rows),
        "state": form.shown_state,
        "states": STATES,
        "columns": [(*column, alert_filter.order.removeprefix("-") == column[0]) for column in COLUMNS],
        "order": alert_filter.order,
        "cluster": visible_clusters(user).filter(pk=alert_filter.cluster).first()
        if alert_filter.cluster
        else None,
        "is_filtered": alert_filter != AlertFilter(state=alert_filter.state, order=alert_filter.order)
        or not form.is_valid(),
        "now": now(),
    }
    if not page.object_list:
        context |= {
            "rules": access.rules_on(visible_projects(user)).filter(enabled=True).count(),
            "live": visible_clusters(user).filter(ended=None).count(),
        }
    return render(request, "pages/alerts/alerts.html", context)


def _page_of_list(
    user: User, form: AlertFilterForm, number: str | None
) -> tuple[Page[Any], Sequence[AlertGroup]]:
    alert_filter = form.alert_filter()
    if form.is_grouped:
        rows = Paginator(find_groups(user, alert_filter), PAGE_SIZE).get_page(number)
        return rows, groups_of(user, alert_filter, list(rows))
    alerts = page_of_rows(find_alerts(user, alert_filter), PAGE_SIZE, number)
    return alerts, [single(alert) for alert in alerts]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the list."""

    group: AlertGroup
    may_answer: bool
    suppression: str
    """what suppresses all examples; "" for nothing"""

    @property
    def identifier(self) -> str:
        """What the row's checkbox sends: see bulk.py."""
        alert = self.group.alert
        return f"{alert.rule_id}-{alert.cluster_id}" if self.group.count > 1 else str(alert.pk)


def _rows(user: User, groups: Sequence[AlertGroup]) -> list[Row]:
    suppressions = Suppressions(now())
    newest = [group.alert.pk for group in groups]
    answerable = set(access.answerable_alerts(user).filter(pk__in=newest).values_list("pk", flat=True))
    rows: list[Row] = []
    for group in groups:
        reasons = [_suppression(suppressions, alert) for alert in group.examples]
        may_answer = group.alert.pk in answerable and group.alert.resolved is None
        rows.append(Row(group, may_answer, reasons[0] if all(reasons) else ""))
    return rows


@require_safe
def alert_page(request: HttpRequest, alert_id: int) -> HttpResponse:
    return _page(request, access.get_alert(cast(User, request.user), alert_id))


@require_safe
def alert_history(request: HttpRequest, alert_id: int) -> HttpResponse:
    """The chart of an alert, which its page loads; empty if there is nothing to draw."""
    alert = access.get_alert(cast(User, request.user), alert_id)
    try:
        history = condition_history(alert)
    except ValueError:
        history = None  # the rule's own page shows why it can't be evaluated
    context = {"alert": alert, "drawing": history and draw(alert, history)}
    return render(request, "pages/alerts/alert_history.html", context)


@require_POST
def acknowledge_alert(request: HttpRequest, alert_id: int) -> HttpResponse:
    alert = access.get_alert_to_answer(cast(User, request.user), alert_id)
    acknowledge(alert, cast(User, request.user), request.POST.get("note", ""))
    messages.success(request, f"“{alert.rule.name}” is acknowledged.")
    return redirect(back_url(request, reverse("alert", args=[alert.pk])))


@require_POST
def silence_alert(request: HttpRequest, alert_id: int) -> HttpResponse:
    alert = access.get_alert_to_answer(cast(User, request.user), alert_id)
    form = SilenceAlertForm(alert, cast(User, request.user), request.POST)
    if not form.is_valid():
        return _page(request, alert, form)
    silence = form.save()
    messages.success(
        request, f"Silenced until {silence.expires:%Y-%m-%d %H:%M} UTC: no notifications are sent."
    )
    return redirect(back_url(request, reverse("alert", args=[alert.pk])))


@require_safe
@conditional_page
def flag(request: HttpRequest) -> HttpResponse:
    """The flag in the header of a page, optionally of the page of `?cluster=`."""
    text = request.GET.get("cluster", "")
    cluster = int(text) if text.isdecimal() and len(text) <= 10 and int(text) <= MAX_ID else None
    return render(request, "pages/alerts/alert_flag.html", firing_flag(cast(User, request.user), cluster))


def _page(request: HttpRequest, alert: Alert, form: SilenceAlertForm | None = None) -> HttpResponse:
    user = cast(User, request.user)
    waiting = Waiting(now())
    deliveries = with_alerts(alert.deliveries.select_related("channel"))
    context = {
        "alert": alert,
        "current_project": alert.cluster.project,
        "deliveries": [(delivery, waiting.reason(delivery)) for delivery in deliveries],
        "suppression": _suppression(Suppressions(now()), alert),
        "unit": _unit(alert),
        "may_answer": access.may_answer_alerts(user, alert),
        "form": form or SilenceAlertForm(alert, user),
        "rule_url": rule_url(user, alert.rule),
        "now": now(),
    }
    return render(request, "pages/alerts/alert.html", context, status=422 if form else 200)


def _unit(alert: Alert) -> str:
    """The unit of the alert's values; "" for a rule that can't be evaluated, whose own page says so."""
    try:
        return unit_of_alert(alert)
    except ValueError:
        return ""


def _suppression(suppressions: Suppressions, alert: Alert) -> str:
    """What suppresses the alert now; "" for nothing, and for resolved alerts."""
    return suppressions.reason(alert) if alert.resolved is None else ""
