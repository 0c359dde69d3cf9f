"""Health, readiness and metrics for machines."""

from __future__ import annotations

import hmac
import logging

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest

from observatory.pages.site.errors import do_not_log
from observatory.runtime.health.checks import ready
from observatory.runtime.health.own_metrics import registry

log = logging.getLogger(__name__)

_not_ready = ""
"""why the last request found this process not ready"""


@login_not_required
def healthz(request: HttpRequest) -> HttpResponse:
    """200 while this process answers at all."""
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
def readyz(request: HttpRequest) -> JsonResponse:
    """200 if requests can be served, otherwise 503 with the parts that are not ready, and the reason."""
    results = ready()
    answer: dict[str, bool | str] = {result.component: result.ok for result in results}
    failed = next((result for result in results if not result.ok), None)
    if failed is not None:
        answer["reason"] = failed.reason
    _log_change("" if failed is None else failed.reason)
    response = JsonResponse(answer, status=503 if failed else 200)
    do_not_log(response)
    return response


def _log_change(reason: str) -> None:
    """Logs the state when it differs from that of the last request: probes ask every few seconds."""
    global _not_ready
    if reason != _not_ready:
        if reason:
            log.warning("not ready: %s", reason)
        else:
            log.info("ready")
    _not_ready = reason


@login_not_required
def metrics(request: HttpRequest) -> HttpResponse:
    """Observatory's own metrics, for clients that send OBSERVATORY_METRICS_TOKEN.

    The client's address decides nothing: behind a proxy on this machine everybody seems to be local.
    """
    if not _may_scrape(request):
        return HttpResponse(
            "Set OBSERVATORY_METRICS_TOKEN on the server, and send it as `Authorization: Bearer`.\n",
            status=403,
            content_type="text/plain",
        )
    # REGISTRY: what this process counts, and its memory, processor time and open files
    return HttpResponse(
        generate_latest(registry) + generate_latest(REGISTRY), content_type=CONTENT_TYPE_LATEST
    )


def _may_scrape(request: HttpRequest) -> bool:
    token = settings.METRICS_TOKEN
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    return bool(token) and hmac.compare_digest(given.encode(), token.encode())
