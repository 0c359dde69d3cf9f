"""Acknowledges or silences the alerts that are selected in the list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from observatory.alerts.models import Alert
from observatory.alerts.silences.alert_form import SilenceAlertForm
from observatory.alerts.web import access
from observatory.alerts.web.acknowledgement import acknowledge_all
from observatory.clusters.formatting import format_count
from observatory.pages.site.own_urls import back_url

MOST_AT_ONCE = 200
ALERT = re.compile(r"[0-9]{1,9}")
GROUP = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected alerts that are open."""

    alerts: Q
    silenced: Sequence[tuple[Alert, str]]
    """for each row an alert, and what a silence of the row is of: see SilenceAlertForm"""


@require_POST
def answer(request: HttpRequest) -> HttpResponse:
    """Applies `action` to the alerts of the selected rows: an alert's id, or RULE-CLUSTER for a group."""
    user = cast(User, request.user)
    selection = _selection(user, request.POST.getlist("alert")[:MOST_AT_ONCE])
    action = request.POST.get("action")
    if not selection.silenced:
        messages.error(request, "Select some open alerts first.")
    elif action == "acknowledge":
        alerts = access.answerable_alerts(user).filter(selection.alerts)
        count = acknowledge_all(alerts, user, request.POST.get("note", ""))
        messages.success(
            request, f"{format_count(count)} alert{'s are' if count != 1 else ' is'} acknowledged."
        )
    elif action == "silence":
        _silence(request, user, selection)
    else:
        messages.error(request, "Choose an action for the selected alerts.")
    return redirect(back_url(request, reverse("alerts")))


def _selection(user: User, values: Sequence[str]) -> Selection:
    """Raises PermissionDenied if `user` may see but not change one of them."""
    wanted = Q(pk__in=[int(value) for value in values if ALERT.fullmatch(value)])
    for value in values:
        if group := GROUP.fullmatch(value):
            wanted |= Q(rule=int(group[1]), cluster=int(group[2]))
    wanted &= Q(resolved=None)
    visible = access.visible_alerts(user).filter(wanted)
    rows = {f"{alert.rule_id}-{alert.cluster_id}": (alert, "cluster") for alert in visible}
    rows |= {str(alert.pk): (alert, "alert") for alert in visible}
    if visible.exclude(pk__in=access.answerable_alerts(user).values("pk")).exists():
        raise PermissionDenied(access.ONLY_EDITORS)
    return Selection(wanted, [rows[value] for value in dict.fromkeys(values) if value in rows])


def _silence(request: HttpRequest, user: User, selection: Selection) -> None:
    """Makes a silence for each row; none if one of them can't be made."""
    fields = {"lasts": request.POST.get("lasts", ""), "comment": request.POST.get("note", "")}
    forms = [SilenceAlertForm(alert, user, {**fields, "of": of}) for alert, of in selection.silenced]
    for form in forms:
        if not form.is_valid():
            errors = [str(text) for texts in form.errors.values() for text in texts]
            note = "Write a note: the silence shows it." if "comment" in form.errors else " ".join(errors)
            messages.error(request, f"Nothing is silenced. {note}")
            return
    with transaction.atomic():
        silences = [form.save() for form in forms]
    until = f"{silences[0].expires:%Y-%m-%d %H:%M} UTC"
    of = "Silenced" if len(silences) == 1 else f"{len(silences)} silences were made,"
    messages.success(request, f"{of} until {until}: no notifications are sent.")
