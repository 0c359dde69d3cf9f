"""Who may see a worker's pages: asked again at each request, and while a socket is open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth import get_user

from observatory.clusters.access import Person
from observatory.clusters.accounts.proxy_sign_in import SCOPE, ProxyUser
from observatory.collect.worker_pages.destination import Destination, find_destination
from observatory.collect.worker_pages.tickets import Ticket, TicketError


@dataclass(frozen=True, slots=True)
class Admission:
    user: int
    destination: Destination
    way: int


@database_sync_to_async  # type: ignore[untyped-decorator]
def admit(scope: Mapping[str, Any], ticket: Ticket) -> Admission:
    """Who sends a request with a ticket, and where it leads.

    Raises TicketError, Http404 without access to the cluster, NoPages after the worker ended, and the
    database's errors.
    """
    return _admitted(scope.get(SCOPE), ticket)


def _admitted(sent: ProxyUser | None, ticket: Ticket) -> Admission:
    user = _user_of(ticket.session)
    if not user.is_authenticated or (sent is not None and sent.name != user.get_username()):
        raise TicketError
    destination = find_destination(user, ticket.cluster, ticket.worker)
    if ticket.way >= len(destination.urls):
        raise TicketError  # the target's address was changed
    assert user.pk is not None
    return Admission(user.pk, destination, ticket.way)


def _user_of(session_key: str) -> Person:
    """Who is signed in with a session; an anonymous user after signing out and a change of the password."""
    session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    user: Person = get_user(SimpleNamespace(session=session))  # type: ignore[arg-type]
    return user
