"""What was found around an alert, which its page loads: a window of findings can take seconds."""

from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from observatory.alerts.findings import findings_around, window_of
from observatory.alerts.web import access
from observatory.alerts.web.links import window_path
from observatory.store.connection import build_connection
from observatory.why.window import TooManyTasks

MOST_FINDINGS = 5


@require_safe
def alert_findings(request: HttpRequest, alert_id: int) -> HttpResponse:
    alert = access.get_alert(cast(User, request.user), alert_id)
    start, stop = (time.timestamp() for time in window_of(alert))
    context: dict[str, Any] = {
        "most": MOST_FINDINGS,
        "timeline": window_path(alert.cluster_id, start, stop, tab="why"),
    }
    try:
        with build_connection() as connection:
            context["found"] = findings_around(connection, alert)
    except TooManyTasks:
        context["is_too_large"] = True
    return render(request, "pages/alerts/alert_findings.html", context)
