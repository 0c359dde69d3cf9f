"""Limits the requests for one public link or invitation from one client."""

from __future__ import annotations

import ipaddress
import logging

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin
from ninja.throttling import SimpleRateThrottle
from redis.exceptions import RedisError

from observatory.clusters.limits.rates import TooFast
from observatory.clusters.tokens.ingest_tokens import digest_of
from observatory.pages.site.errors import is_api

PREFIXES = ("/r/", "/join/", "/api/v1/r/")
IPV6_NETWORK = 64
"""bits; a client usually has all addresses of such a network"""

log = logging.getLogger(__name__)


class LinkThrottle(SimpleRateThrottle):
    def get_cache_key(self, request: HttpRequest) -> str | None:
        prefix = next((prefix for prefix in PREFIXES if request.path_info.startswith(prefix)), None)
        if prefix is None:
            return None
        token = request.path_info.removeprefix(prefix).partition("/")[0]
        return f"link-requests:{digest_of(token)[:32]}:{_client(request.META.get('REMOTE_ADDR', ''))}"


class LinkRateLimitMiddleware(MiddlewareMixin):
    """Answers 429 to a client that requests a link more than LINK_REQUESTS times in a minute."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        throttle = LinkThrottle(f"{settings.LINK_REQUESTS}/min")
        try:
            if throttle.allow_request(request):
                return None
        except RedisError as error:
            log.warning("requests for links aren't limited, Redis is unavailable: %s", error)
            return None
        text = "This link is requested too often from your address. Wait a minute."
        return _refusal(request, text, max(1, round(throttle.wait() or 1)))

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Pages whose project reached a rate; the API answers by itself."""
        if isinstance(exception, TooFast):
            return _refusal(request, str(exception), exception.seconds)
        return None


def _refusal(request: HttpRequest, text: str, seconds: int) -> HttpResponse:
    if is_api(request):
        response: HttpResponse = JsonResponse({"detail": text}, status=429)
    else:
        context = {"title": "Too many requests", "text": text}
        response = render(request, "pages/site/error.html", context, status=429)
    response["Retry-After"] = str(seconds)
    return response


def _client(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is None:
        return str(ipaddress.ip_network((parsed, IPV6_NETWORK), strict=False).network_address)
    return str(parsed)
