"""Notes sign-ins, those that fail and sign-outs, whichever way people sign in. Receives Django's signals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest

from observatory.clusters.audit.models import AuditEntry
from observatory.clusters.audit.noting import is_first, note
from observatory.clusters.audit.request_actor import actor_of
from observatory.store.audit.actor import Actor

Action, ActorKind = AuditEntry.Action, AuditEntry.ActorKind
KIND = "session"
FAILURES = 60
"""seconds in which an address' further failures with an account are not noted: guessing would fill the log"""
UNKNOWN = "an unknown account"
"""people type passwords into the field of the name"""


@receiver(user_logged_in, dispatch_uid="audit log")
def signed_in(request: HttpRequest, user: User, **_: Any) -> None:
    note(Action.SIGN_IN, KIND, user.get_username(), person=user.pk, actor=_as_person(request, user))


@receiver(user_logged_out, dispatch_uid="audit log")
def signed_out(request: HttpRequest, user: User | None, **_: Any) -> None:
    if user is not None:
        note(Action.SIGN_OUT, KIND, user.get_username(), person=user.pk, actor=_as_person(request, user))


@receiver(user_login_failed, dispatch_uid="audit log")
def failed_to_sign_in(credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    user = User.objects.filter(username=str(credentials.get("username", "")).replace("\0", "")).first()
    note_failure(request, user)


def note_failure(request: HttpRequest | None, user: User | None = None) -> None:
    """`user` is the account whose name was given; None: there is none, or it isn't known."""
    known = Actor(ActorKind.UNKNOWN.value) if request is None else actor_of(request)
    actor = replace(known, kind=ActorKind.UNKNOWN.value, name="", person=None, token="")
    number = None if user is None else user.pk
    if is_first("failed", number, seconds=FAILURES, actor=actor):
        name = UNKNOWN if user is None else user.get_username()
        note(Action.SIGN_IN_FAILED, KIND, name, person=number, actor=actor)


def _as_person(request: HttpRequest, user: User) -> Actor:
    actor = actor_of(request)
    return replace(actor, kind=ActorKind.PERSON.value, name=user.get_username(), person=user.pk)
