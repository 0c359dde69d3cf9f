"""Tasks of a cluster: the search by a part of the key, and the history of one."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from observatory.clusters.models import Cluster
from observatory.pages.clusters.frame import get_cluster, record_frame
from observatory.pages.site.query import parse_time
from observatory.replay.task_history import task_history
from observatory.replay.task_search import Position, Wanted, search_tasks
from observatory.store.connection import read_connection
from observatory.store.queries.timeline import snapshot
from observatory.store.reading.scanned_files import SCANNED_FILES
from observatory.store.times import MAXIMUM_TIME, to_microseconds
from observatory.wire.records import clean_key

TASKS = 50
"""on one page"""


@require_safe
def task_page(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """The task with exactly the `key` in the query string, or those with `q` in their key, newest first."""
    cluster = get_cluster(request, cluster_id)
    key = clean_key(request.GET.get("key", ""))
    if not key:
        return _search(request, cluster)
    context: dict[str, Any] = {**record_frame(cluster, "tasks"), "key": key, "text": key}
    with read_connection() as connection, snapshot(connection):
        context["story"] = task_history(connection, cluster.pk, key)
    return render(request, "pages/tasks/task.html", context)


def _search(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    text = clean_key(request.GET.get("q", "").strip())
    start, stop = parse_time(request.GET.get("from", "")), parse_time(request.GET.get("to", ""))
    only_not_computed = request.GET.get("state") == "not-computed"
    context: dict[str, Any] = {
        **record_frame(cluster, "tasks"),
        "text": text,
        "start": start,
        "stop": stop,
        "only_not_computed": only_not_computed,
        "is_continued": "older" in request.GET,
    }
    if text:
        wanted = Wanted(
            text,
            to_microseconds(start) if start else 0,
            to_microseconds(stop) if stop else MAXIMUM_TIME,
            only_not_computed,
        )
        position = Position.parse(request.GET.get("older", ""))
        with read_connection() as connection:
            context["found"] = search_tasks(connection, cluster.pk, wanted, TASKS, position)
        context["files"] = SCANNED_FILES.get()
    return render(request, "pages/tasks/search.html", context)
