"""Notes what is no change of a row: sign-ins, downloads, queries."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace

from django.core.cache import cache
from django.db import DatabaseError
from redis.exceptions import RedisError

from observatory.clusters.audit.models import AuditEntry
from observatory.clusters.tokens.ingest_tokens import digest_of
from observatory.store.audit.actor import Actor, current_actor

log = logging.getLogger(__name__)

Action = AuditEntry.Action
REPEATED = 3600
"""seconds in which the same reading by the same actor is one entry: dashboards ask every minute"""
NOBODY = Actor(AuditEntry.ActorKind.SYSTEM.value)


def note(
    action: Action,
    kind: str,
    subject: str = "",
    subject_id: object = "",
    projects: Iterable[int] = (),
    person: int | None = None,
    actor: Actor | None = None,
) -> None:
    """Adds an entry. `actor`: None for who acts now; `person`: the account that it is about."""
    who = actor or current_actor() or NOBODY
    AuditEntry.objects.create(
        actor_kind=who.kind,
        actor_name=_text(who.name, 200),
        actor_id=who.person,
        token=_text(who.token, 200),
        address=_text(who.address, 100),
        door=who.door,
        action=action,
        kind=kind,
        subject=_text(subject, 300),
        subject_id=_text(str(subject_id), 200),
        person_id=person,
        projects=sorted(set(projects)),
    )


def note_reading(
    action: Action, kind: str, subject: str, subject_id: object, find_projects: Callable[[], Iterable[int]]
) -> None:
    """Notes that somebody takes data out, once an hour for who does it again and again.

    A database that can only be read goes on being read: then the server's log has it.
    """
    if is_first(action, kind, subject_id, seconds=REPEATED):
        try:
            note(action, kind, subject, subject_id, find_projects())
        except DatabaseError as error:
            log.warning("not in the audit log: %s %s %s: %s", current_actor(), action, kind, error)


def is_first(*what: object, seconds: int, actor: Actor | None = None) -> bool:
    """Whether the actor did not do this in the last `seconds`, so that programs do not flood the log.

    Without Redis everything is the first.
    """
    who = replace(actor or current_actor() or NOBODY, is_noted=True)
    try:
        return bool(cache.add(f"audit:{digest_of(repr((who, what)))}", 1, seconds))
    except RedisError:
        return True


def _text(value: str, longest: int) -> str:
    return value.replace("\0", "")[:longest]
