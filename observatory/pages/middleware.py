"""What is asked of every request."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.deprecation import MiddlewareMixin

from observatory.pages.errors import bad_request, is_api

ASKS_FOR_A_TOKEN = ("/api/v1/ingest",)


class RefuseNulMiddleware(MiddlewareMixin):
    """Refuses a NUL in a query: PostgreSQL holds none in its texts, so that nothing could be found by one."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        if "%00" in request.META["QUERY_STRING"]:
            return bad_request(request, ValueError("a NUL in the query"))
        return None


class SignInRequiredMiddleware(LoginRequiredMiddleware):
    """Sign-in for everything that isn't marked `login_not_required`.

    Sends people to the sign-in page, and tells programs that they aren't signed in.
    """

    def process_view(
        self, request: HttpRequest, view_func: Any, view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        if request.method == "POST" and request.path in ASKS_FOR_A_TOKEN:
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)

    def handle_no_permission(  # type: ignore[override]
        self, request: HttpRequest, view_func: Any
    ) -> HttpResponseBase:
        if is_api(request):
            return JsonResponse({"detail": "Sign in first: this needs the cookie of a session."}, status=401)
        return super().handle_no_permission(request, view_func)
