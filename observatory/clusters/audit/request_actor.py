"""Who sends a request, for the audit log."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

from observatory.clusters.audit.models import AuditEntry
from observatory.clusters.tokens.models import AccessToken
from observatory.store.audit.actor import Actor, acting

DOORS = {"/api/": "API", "/admin/": "admin", "/scim/": "SCIM"}
"""by the beginning of a path; the others are pages"""


class ActorMiddleware:
    """What is changed while a request is answered is changed by who sent it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with acting(lambda: actor_of(request)):
            return self.get_response(request)


def actor_of(request: HttpRequest) -> Actor:
    token: AccessToken | None = getattr(request, "access_token", None)
    user = getattr(request, "user", None)
    is_known = user is not None and user.is_authenticated
    kinds = AuditEntry.ActorKind
    return Actor(
        kind=(kinds.UNKNOWN if not is_known else kinds.PERSON if token is None else kinds.TOKEN).value,
        name=user.get_username() if user is not None and is_known else "",
        person=user.pk if user is not None and is_known else None,
        token="" if token is None else str(token),
        address=request.META.get("REMOTE_ADDR", ""),
        door=next((door for start, door in DOORS.items() if request.path_info.startswith(start)), "page"),
    )
