"""Sign-in for everything that isn't marked `login_not_required`."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponseBase, JsonResponse

from observatory.pages.errors import is_api


class SignInRequiredMiddleware(LoginRequiredMiddleware):
    """Sends people to the sign-in page, and tells programs that they aren't signed in."""

    def handle_no_permission(  # type: ignore[override]
        self, request: HttpRequest, view_func: Any
    ) -> HttpResponseBase:
        if is_api(request):
            return JsonResponse({"detail": "Sign in first: this needs the cookie of a session."}, status=401)
        return super().handle_no_permission(request, view_func)
