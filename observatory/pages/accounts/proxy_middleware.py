"""Signs people in whom a trusted proxy names in a header."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, logout
from django.http import HttpRequest
from django.utils.deprecation import MiddlewareMixin

from observatory.clusters.accounts.proxy_sign_in import (
    BACKEND,
    ProxyUser,
    begin_session,
    is_current,
    sent_with,
    sign_in,
)
from observatory.pages.site.errors import is_api


class ProxySignInMiddleware(MiddlewareMixin):
    """Each request is of the person whom the proxy names; without a name, sessions of proxies end.

    Programs that send no cookie to the API get no session. Raises PermissionDenied as sign_in does.
    """

    def process_request(self, request: HttpRequest) -> None:
        sent: ProxyUser | None = sent_with(request)
        if sent is None:
            if request.session.get(BACKEND_SESSION_KEY) == BACKEND:
                logout(request)
        elif is_current(request, sent):
            return
        elif is_api(request) and settings.SESSION_COOKIE_NAME not in request.COOKIES:
            request.user = sign_in(sent)
        else:
            begin_session(request, sent)
