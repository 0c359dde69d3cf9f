"""Sign-in of the REST API: a session, or an access token with the scope that a route declares."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from ninja.security import SessionAuth

from observatory.clusters.tokens.models import AccessToken

Scope = AccessToken.Scope
READS = ("GET", "HEAD")


class SessionOrToken(SessionAuth):
    """Who has a session, or sends an access token: `scope` is what a token needs to change something.

    Without a scope no token can change something, but where a route `only_reads` whatever its method is.
    Raises PermissionDenied, which names what is missing.
    """

    openapi_description = (
        "The cookie of a session, or the header `Authorization: Bearer` with an access token."
    )

    def __init__(self, scope: Scope | None = None, only_reads: bool = False) -> None:
        self.scope, self.only_reads = scope, only_reads
        super().__init__()

    def __call__(self, request: HttpRequest) -> Any:
        token: AccessToken | None = getattr(request, "access_token", None)
        if token is None:
            return super().__call__(request)
        if request.method not in READS and not self.only_reads:
            _require(token, self.scope)
        return request.user


def _require(token: AccessToken, scope: Scope | None) -> None:
    if scope is None:
        raise PermissionDenied("No access token can do this: sign in, and do it on the page.")
    if scope not in token.scopes:
        raise PermissionDenied(f"The access token lacks the scope “{scope}”. Create one that has it.")
