"""The REST API: each room's router under one OpenAPI document at /api/v1/openapi.json."""

from __future__ import annotations

import json
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.parser import Parser

from observatory.alerts.web.api import router as alerts
from observatory.alerts.web.timelines import clusters as cluster_alerts
from observatory.alerts.web.timelines import links as link_alerts
from observatory.alerts.web.timelines import runs as run_alerts
from observatory.base.api_response import ApiRenderer
from observatory.clusters.accounts.invitations_api import router as invitations
from observatory.clusters.api import router as clusters
from observatory.clusters.audit.api import router as audit
from observatory.clusters.deletion.api import router as deletions
from observatory.clusters.limits.rates import TooFast
from observatory.clusters.tokens.api_sign_in import SessionOrToken
from observatory.collect.agents.ingest import router as ingest
from observatory.collect.api import router as targets
from observatory.collect.discovery.api import router as discoveries
from observatory.collect.prometheus.remote_write import router as remote_write
from observatory.comparison.api import router as comparison
from observatory.comparison.card.api import links as link_cards
from observatory.comparison.card.api import runs as run_cards
from observatory.exchange.attachments.api import router as attachments
from observatory.exchange.attachments.timelines import clusters as cluster_attachments
from observatory.exchange.attachments.timelines import links as link_attachments
from observatory.exchange.attachments.timelines import runs as run_attachments
from observatory.exchange.jobs.api import router as jobs
from observatory.exchange.prometheus.api import router as prometheus
from observatory.exchange.records.api import router as records
from observatory.exchange.sql.api import router as sql
from observatory.pages.notebook.api import router as notebook
from observatory.replay.api import clusters as cluster_timelines
from observatory.runs.api import router as runs
from observatory.runs.errors.api import router as errors
from observatory.runs.notes_api import router as notes
from observatory.runs.search_api import router as search
from observatory.runs.sharing.timelines import links as link_timelines
from observatory.runs.sharing.timelines import runs as run_timelines
from observatory.runs.usage.api import router as usage
from observatory.why.marks.api import router as finding_marks
from observatory.why.timelines import clusters as why_clusters
from observatory.why.timelines import links as why_links
from observatory.why.timelines import runs as why_runs


class UnicodeParser(Parser):
    """Refuses JSON with lone surrogates (`"\\ud800"`), which aren't characters and can't be stored."""

    def parse_body(self, request: HttpRequest) -> Any:
        data = super().parse_body(request)
        json.dumps(data, ensure_ascii=False).encode()  # a UnicodeEncodeError becomes a 400 response
        return data


api = NinjaAPI(
    title="Dask Observatory",
    version="1",
    auth=SessionOrToken(),
    docs_url=None,
    parser=UnicodeParser(),
    renderer=ApiRenderer(),
)
api.add_router("", clusters)
api.add_router("", invitations)
api.add_router("", deletions)
api.add_router("", audit)
api.add_router("", targets)
api.add_router("", discoveries)
api.add_router("", ingest)
api.add_router("", remote_write)
api.add_router("", comparison)
api.add_router("", run_cards)
api.add_router("", link_cards)
api.add_router("", notebook)
api.add_router("", records)
api.add_router("", sql)
api.add_router("", prometheus)
api.add_router("", runs)
api.add_router("", errors)
api.add_router("", notes)
api.add_router("", finding_marks)
api.add_router("", search)
api.add_router("", usage)
api.add_router("/clusters/{int:cluster_id}", cluster_timelines)
api.add_router("/runs/{int:run_id}/timeline", run_timelines)
api.add_router("/r/{token}", link_timelines)
api.add_router("", jobs)
api.add_router("", attachments)
api.add_router("/clusters/{int:cluster_id}", cluster_attachments)
api.add_router("/runs/{int:run_id}/timeline", run_attachments)
api.add_router("/r/{token}", link_attachments)
api.add_router("", alerts)
api.add_router("/clusters/{int:cluster_id}", cluster_alerts)
api.add_router("/runs/{int:run_id}/timeline", run_alerts)
api.add_router("/r/{token}", link_alerts)
api.add_router("/clusters/{int:cluster_id}", why_clusters)
api.add_router("/runs/{int:run_id}/timeline", why_runs)
api.add_router("/r/{token}", why_links)


@api.exception_handler(TooFast)
def too_fast(request: HttpRequest, error: TooFast) -> HttpResponse:
    response = api.create_response(request, {"detail": str(error)}, status=429)
    response["Retry-After"] = str(error.seconds)
    return response


@api.exception_handler(Http404)
def not_found(request: HttpRequest, error: Exception) -> HttpResponse:
    return api.create_response(request, {"detail": str(error) or "There is nothing here."}, status=404)
