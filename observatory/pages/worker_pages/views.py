"""Dask's own pages of a living worker, in a frame; collect/worker_pages/ relays what the frame requests."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from observatory.clusters.models import Cluster
from observatory.collect.worker_pages.destination import Destination, Missing, NoPages, find_destination
from observatory.collect.worker_pages.paths import FIRST, START
from observatory.collect.worker_pages.policy import SANDBOX, frame_sources
from observatory.collect.worker_pages.tickets import make_ticket
from observatory.collect.worker_pages.worker_client import find_way
from observatory.pages.clusters.frame import get_cluster
from observatory.store.connection import read_connection
from observatory.store.queries.worker_place import WorkerPlace, read_worker_place

log = logging.getLogger(__name__)

TITLES = {
    Missing.ENDED: "This worker has ended",
    Missing.NO_DASHBOARD: "This worker has no pages",
    Missing.REFUSED: "These pages are not requested",
    Missing.UNREACHABLE: "This worker does not answer",
}
OFF = (
    "They are off in this installation. An administrator turns them on with OBSERVATORY_WORKER_PAGES, which "
    "lists the networks in which workers may be requested."
)


@require_safe
def worker_pages(request: HttpRequest, cluster_id: int, worker_id: int) -> HttpResponse:
    cluster = get_cluster(request, cluster_id)
    with read_connection() as connection:
        worker = read_worker_place(connection, cluster.pk, worker_id)
    if worker is None:
        raise Http404("This worker doesn't exist, or you don't have access to it.")
    if not settings.WORKER_PAGES:
        return _none(request, cluster, worker, "Dask's own pages are off", OFF, 404)
    user = cast(User, request.user)
    try:
        destination = find_destination(user, cluster.pk, worker.id)
        way = asyncio.run(find_way(destination))
    except NoPages as why:
        return _none(request, cluster, worker, TITLES[why.missing], str(why), why.missing.value)
    log.info("%s opens the pages of worker %d of cluster %d", user.get_username(), worker.id, cluster.pk)
    return _frame(request, cluster, destination, way)


def _frame(request: HttpRequest, cluster: Cluster, destination: Destination, way: int) -> HttpResponse:
    worker = destination.worker
    ticket = make_ticket(request.session.session_key or "", cluster.pk, worker.id, way)
    context = {
        **_context(cluster, worker),
        "first": f"{settings.SUB_PATH}{START}{ticket}/{FIRST}",
        "sandbox": SANDBOX,
    }
    response = render(request, "pages/worker_pages/frame.html", context)
    response._csp_update = {"frame-src": frame_sources(request.get_host())}  # type: ignore[attr-defined]
    return response


def _none(
    request: HttpRequest, cluster: Cluster, worker: WorkerPlace, title: str, text: str, status: int
) -> HttpResponse:
    context = {**_context(cluster, worker), "title": title, "text": text}
    return render(request, "pages/worker_pages/none.html", context, status=status)


def _context(cluster: Cluster, worker: WorkerPlace) -> dict[str, Any]:
    return {"cluster": cluster, "current_project": cluster.project, "worker": worker}
