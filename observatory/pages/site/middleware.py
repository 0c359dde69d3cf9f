"""Middleware: sign-in, access tokens, and checks of every request."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.deprecation import MiddlewareMixin

from observatory.clusters.accounts.proxy_sign_in import sent_with
from observatory.clusters.tokens import access_tokens
from observatory.clusters.tokens.api_sign_in import READS
from observatory.pages.site.errors import bad_request, is_api

TOKEN_ENDPOINTS = {
    ("POST", "/api/v1/ingest"),
    ("POST", "/api/v1/ingest/prometheus"),
    ("GET", "/api/v1/ingest/same-project"),
}
"""authenticated by an ingest token"""
TOKEN_COOKIE = "observatory_access_token"
"""an access token that a page in a frame reads with (pages/framed/)"""
PUBLIC_LINKS = "/api/v1/r/"
"""authenticated by the link's token, not by a session"""


class AdminPolicyMiddleware(MiddlewareMixin):
    """Adds ADMIN_POLICY to the content security policy of the admin's pages."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_admin = request.resolver_match is not None and request.resolver_match.app_name == "admin"
        if is_admin and hasattr(request, "user") and admin.site.has_permission(request):
            response._csp_update = settings.ADMIN_POLICY  # type: ignore[attr-defined]  # django-csp reads it
        if is_admin:
            response._csp_replace = {"frame-ancestors": ["'none'"]}  # type: ignore[attr-defined]
        return response


class RefuseNulMiddleware(MiddlewareMixin):
    """Refuses NUL characters in URLs, which PostgreSQL can't store or compare."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        if "%00" in request.META["QUERY_STRING"] or "\0" in request.path:
            return bad_request(request, ValueError("a NUL in the URL"))
        return None


class PrivatePagesMiddleware(MiddlewareMixin):
    """Keeps pages out of caches, unless their view sets a policy or validates them by an ETag."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        if is_page and not response.has_header("ETag"):
            response.headers.setdefault("Cache-Control", "private, no-store")
        return response


def _is_of_proxy(request: HttpRequest, secret: str) -> bool:
    """Whether a proxy that signs people in sends a token of its own, as oauth2-proxy can."""
    return sent_with(request) is not None and not secret.strip().startswith(access_tokens.START)


class SignInRequiredMiddleware(LoginRequiredMiddleware):
    """Requires sign-in for all views that aren't marked `login_not_required`.

    Pages redirect to the sign-in page; the API returns 401.
    """

    def process_view(
        self, request: HttpRequest, view_func: Any, view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        if (request.method, request.path_info) in TOKEN_ENDPOINTS:
            return None
        if request.method in READS and request.path_info.startswith(PUBLIC_LINKS):
            return None
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if is_api(request) and scheme.lower() == "bearer" and not _is_of_proxy(request, secret):
            return self._with_token(request, secret.strip())
        if settings.FRAME_ANCESTORS and request.method in READS and not request.user.is_authenticated:
            self._with_cookie(request)
        return super().process_view(request, view_func, view_args, view_kwargs)

    def _with_cookie(self, request: HttpRequest) -> None:
        """Authenticates what a page in a frame reads, where it was opened with an access token."""
        is_framed = request.resolver_match is not None and request.resolver_match.url_name == "framed-chart"
        secret = request.COOKIES.get(TOKEN_COOKIE, "")
        token = access_tokens.find(secret) if secret and (is_api(request) or is_framed) else None
        if token is not None:
            request.user = token.user
            request.access_token = token  # type: ignore[attr-defined]  # as _with_token does

    def _with_token(self, request: HttpRequest, secret: str) -> HttpResponseBase | None:
        """Authenticates a request by a personal access token. The API's routes check its scopes."""
        token = access_tokens.find(secret)
        if token is None:
            detail = "The access token is unknown, revoked or expired. Create a new one at /account/tokens/."
            return JsonResponse({"detail": detail}, status=401)
        request.user = token.user
        request.access_token = token  # type: ignore[attr-defined]  # clusters/tokens/api_sign_in.py reads it
        return None

    def handle_no_permission(  # type: ignore[override]
        self, request: HttpRequest, view_func: Any
    ) -> HttpResponseBase:
        if is_api(request):
            detail = "Sign in, or send an access token."
            return JsonResponse({"detail": detail}, status=401)
        return super().handle_no_permission(request, view_func)
