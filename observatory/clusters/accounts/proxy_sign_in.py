"""Sign-in by a header of a trusted proxy, such as oauth2-proxy or JupyterHub's.

config/http/sign_in_headers.py reads the headers and puts the person into the scope of the request or socket.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from channels.auth import get_user
from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, login
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest

from observatory.clusters.access import Person
from observatory.clusters.accounts.departures import bound_session
from observatory.clusters.accounts.groups import set_memberships

SCOPE = "observatory.proxy_user"
BACKEND = "observatory.clusters.accounts.proxy_sign_in.ProxyBackend"
GROUPS = "groups_of_proxy"
"""in the session"""
LONGEST_NAME = 150


@dataclass(frozen=True, slots=True)
class ProxyUser:
    """Who a trusted proxy says the person is."""

    name: str
    groups: tuple[str, ...] | None
    """None: the proxy is not asked for groups"""


class ProxyBackend(ModelBackend):
    """Marks the sessions that a header began: they hold only as long as the proxy sends the header."""

    def authenticate(self, request: HttpRequest | None, **_: Any) -> None:  # type: ignore[override]
        return None


def sent_with(request: HttpRequest) -> ProxyUser | None:
    """Whom a trusted proxy names in a request."""
    found: ProxyUser | None = getattr(request, "scope", {}).get(SCOPE)
    return found


def sign_in(sent: ProxyUser) -> User:
    """The account of the person, made at the first sign-in, with the memberships of the groups.

    Raises PermissionDenied for what is no user name and for a deactivated account.
    """
    try:
        if len(sent.name) > LONGEST_NAME:
            raise ValidationError("")
        User.username_validator(sent.name)
    except ValidationError:
        raise PermissionDenied(
            f"The proxy sent no user name in {settings.SIGN_IN_HEADER}, but {sent.name[:LONGEST_NAME]!r}."
        ) from None
    user = _user_named(sent.name)
    if not user.is_active:
        raise PermissionDenied("Your account is deactivated. Ask an administrator.")
    if sent.groups is not None:
        set_memberships(user, sent.groups)
    return user


def begin_session(request: HttpRequest, sent: ProxyUser) -> None:
    """Raises PermissionDenied as sign_in does."""
    login(request, sign_in(sent), backend=BACKEND)
    bound_session(request)
    request.session[GROUPS] = None if sent.groups is None else list(sent.groups)


def is_current(request: HttpRequest, sent: ProxyUser) -> bool:
    """Whether the session is that of the person with these groups."""
    groups = None if sent.groups is None else list(sent.groups)
    return (
        request.user.is_authenticated
        and request.user.get_username() == User.normalize_username(sent.name)
        and request.session.get(BACKEND_SESSION_KEY) == BACKEND
        and request.session.get(GROUPS) == groups
    )


async def user_of_socket(scope: Mapping[str, Any]) -> Person:
    """Who opened a socket. Reads the session again: people sign out while a page is open."""
    sent: ProxyUser | None = scope.get(SCOPE)
    if sent is not None:
        named: Person = await database_sync_to_async(_active_user)(sent.name)
        return named
    session = import_module(settings.SESSION_ENGINE).SessionStore(scope["session"].session_key)
    user: Person = await get_user({"session": session})
    if user.is_authenticated and session.get(BACKEND_SESSION_KEY) == BACKEND:
        return AnonymousUser()
    return user


def _user_named(name: str) -> User:
    without = {"password": make_password(None)}
    user, _ = User.objects.get_or_create(username=User.normalize_username(name), defaults=without)
    return user


def _active_user(name: str) -> Person:
    user = User.objects.filter(username=User.normalize_username(name), is_active=True).first()
    return user or AnonymousUser()
