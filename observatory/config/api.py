"""The REST API: each room's router under one OpenAPI document at /api/v1/openapi.json."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.security import django_auth

from observatory.clusters.api import router as clusters
from observatory.collect.api import router as targets
from observatory.collect.ingest import router as ingest
from observatory.replay.api import router as replay

api = NinjaAPI(title="Dask Observatory", version="1", auth=django_auth, docs_url=None)
api.add_router("", clusters)
api.add_router("", targets)
api.add_router("", ingest)
api.add_router("", replay)


@api.exception_handler(Http404)
def not_found(request: HttpRequest, error: Exception) -> HttpResponse:
    return api.create_response(request, {"detail": str(error) or "There is nothing here."}, status=404)
