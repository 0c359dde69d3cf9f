"""Log lines of a cluster."""

from __future__ import annotations

import time
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from observatory.clusters.models import Cluster
from observatory.pages.clusters.frame import get_cluster, record_frame
from observatory.pages.site.csv import MOST_ROWS, csv_response, wants_csv
from observatory.pages.site.query import format_position, parse_position, parse_time, query_text
from observatory.replay.logs.search import listed_lines
from observatory.store.connection import read_connection
from observatory.store.queries.logs import LogCursor, LogFilter, LogLine
from observatory.store.reading.scanned_files import SCANNED_FILES
from observatory.wire.records import ROLES

LINES = 200
"""on one page"""
BUDGET = 3.0
"""seconds after which a search of archived lines stops; the next page goes on"""
LEVELS = {10: "Debug", 20: "Info", 30: "Warning", 40: "Error", 50: "Critical"}


@require_safe
def log_list(request: HttpRequest, cluster_id: int) -> HttpResponse:
    """Newest first. `older` and `newer` are positions to continue from."""
    cluster = get_cluster(request, cluster_id)
    wanted = _wanted(request)
    if wants_csv(request):
        return _csv(cluster, wanted)
    context = {
        **record_frame(cluster, "logs"),
        **_lines(request, cluster.pk, wanted),
        "wanted": wanted,
        "is_filtered": wanted != LogFilter(),
        "levels": LEVELS,
        "roles": ROLES,
    }
    return render(request, "pages/logs/logs.html", context)


def _csv(cluster: Cluster, wanted: LogFilter) -> HttpResponse:
    with read_connection() as connection:
        lines, _ = listed_lines(connection, cluster.pk, wanted, MOST_ROWS + 1)
    header = ("time", "level", "role", "worker", "address", "pid", "logger", "message", "traceback")
    rows = (
        (
            line.time,
            LEVELS.get(line.level, line.level),
            line.role,
            line.worker,
            line.address,
            line.pid,
            line.logger,
            line.message,
            line.traceback,
        )
        for line in lines
    )
    return csv_response(f"{cluster.name} logs", header, rows)


def _lines(request: HttpRequest, cluster: int, wanted: LogFilter) -> dict[str, Any]:
    older, newer = _position(request, "older"), _position(request, "newer")
    goes_back = newer is None
    with read_connection() as connection:
        found, stopped = listed_lines(
            connection,
            cluster,
            wanted,
            LINES + 1,
            older if goes_back else newer,
            goes_back=goes_back,
            deadline=time.monotonic() + BUDGET,
        )
    has_more = len(found) > LINES
    lines = found[:LINES] if goes_back else found[-LINES:]
    further = "" if stopped is None else format_position(*stopped)
    if goes_back:
        paging = {
            "older": _edge(lines[-1:]) if has_more else further,
            "newer": _edge(lines[:1]) if older else "",
        }
    else:
        paging = {"older": _edge(lines[-1:]), "newer": _edge(lines[:1]) if has_more else further}
    return {
        "lines": lines,
        **paging,
        "searched_to": stopped and stopped[0],
        "files": SCANNED_FILES.get(),
        "is_newest": older is None and goes_back,
    }


def _edge(lines: list[LogLine]) -> str:
    return format_position(lines[0].time, lines[0].hash) if lines else ""


def _position(request: HttpRequest, name: str) -> LogCursor | None:
    position = parse_position(request.GET.get(name, ""))
    try:
        return position and (position[0], min(max(int(position[1]), -(2**63)), 2**63 - 1))
    except ValueError:
        return None


def _wanted(request: HttpRequest) -> LogFilter:
    level, role = request.GET.get("level", ""), request.GET.get("role", "")
    return LogFilter(
        level=int(level) if level in map(str, LEVELS) else 0,
        role=role if role in ROLES else "",
        worker=query_text(request, "worker"),
        logger=query_text(request, "logger"),
        text=query_text(request, "text"),
        start=parse_time(request.GET.get("from", "")),
        stop=parse_time(request.GET.get("to", "")),
    )
