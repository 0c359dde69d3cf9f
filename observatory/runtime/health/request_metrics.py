"""Metrics of HTTP requests, counted by each web process."""

from __future__ import annotations

import time

from django.http import HttpRequest, HttpResponseBase
from django.utils.deprecation import MiddlewareMixin
from prometheus_client import Counter, Histogram

METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
REQUESTS = Counter("observatory_http_requests", "HTTP requests.", ["method", "route", "status"])
DURATION = Histogram(
    "observatory_http_request_duration_seconds", "Until the answer begins.", ["method", "route"]
)


class RequestMetricsMiddleware(MiddlewareMixin):
    """Counts requests by method, route and status. A route is a URL's pattern, so there are few."""

    def process_request(self, request: HttpRequest) -> None:
        request.started = time.perf_counter()  # type: ignore[attr-defined]

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        method = request.method if request.method in METHODS else "other"
        match = request.resolver_match
        route = f"/{match.route}" if match is not None else "none"
        REQUESTS.labels(method, route, str(response.status_code)).inc()
        started: float = request.started  # type: ignore[attr-defined]
        DURATION.labels(method, route).observe(time.perf_counter() - started)
        return response
