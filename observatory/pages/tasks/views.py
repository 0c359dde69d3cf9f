"""History of a task."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from observatory.pages.clusters.frame import get_cluster, record_frame
from observatory.replay.task_history import task_history
from observatory.store.connection import read_connection
from observatory.store.queries.timeline import snapshot
from observatory.wire.records import clean_key


@require_safe
def task_page(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """The task with exactly the `key` in the query string."""
    cluster = get_cluster(request, cluster_id)
    key = clean_key(request.GET.get("key", ""))
    context: dict[str, Any] = {**record_frame(cluster, "tasks"), "key": key}
    if key:
        with read_connection() as connection, snapshot(connection):
            context["story"] = task_history(connection, cluster.pk, key)
    return render(request, "pages/tasks/task.html", context)
