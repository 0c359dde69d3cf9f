"""Who may read which entries of the audit log, and the filter of its page, its API and its command."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet

from observatory.clusters.access import Person, projects_to_manage, visible_projects
from observatory.clusters.audit.models import AuditEntry
from observatory.clusters.models import Project
from observatory.store.audit.entries import newest_settled

REFUSAL = "Owners of a project read the entries of their project, superusers all."


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Empty fields filter nothing."""

    project: str = ""
    """slug"""
    person: str = ""
    """a part of the name of who acted"""
    action: str = ""
    kind: str = ""
    text: str = ""
    """a part of a subject's name, an address, a token, a command or a value"""
    since: datetime | None = None
    until: datetime | None = None


def readable_entries(user: Person | None) -> QuerySet[AuditEntry]:
    """For owners those of their projects; all for superusers, and for the command line (None).

    Raises PermissionDenied for others.
    """
    if user is None or _reads_all(user):
        return AuditEntry.objects.all()
    owned = list(projects_to_manage(user).values_list("pk", flat=True))
    if not owned:
        raise PermissionDenied(REFUSAL)
    return AuditEntry.objects.filter(projects__overlap=owned)


def filtered(entries: QuerySet[AuditEntry], wanted: EntryFilter) -> QuerySet[AuditEntry]:
    """The entries that a filter leaves; none for a project that there is not."""
    if wanted.project:
        numbers = list(Project.objects.filter(slug=wanted.project).values_list("pk", flat=True))
        entries = entries.filter(projects__overlap=numbers) if numbers else entries.none()
    if wanted.person:
        entries = entries.filter(actor_name__icontains=wanted.person)
    if wanted.action:
        entries = entries.filter(action=wanted.action)
    if wanted.kind:
        entries = entries.filter(kind=wanted.kind)
    if wanted.since:
        entries = entries.filter(at__gte=wanted.since)
    if wanted.until:
        entries = entries.filter(at__lte=wanted.until)
    if wanted.text:
        fields = ("subject", "actor_name", "address", "token", "kind", "changes")
        conditions = Q(pk__in=())
        for field in fields:
            conditions |= Q(**{f"{field}__icontains": wanted.text})
        entries = entries.filter(conditions)
    return entries


def document(entry: AuditEntry, slugs: dict[int, str]) -> dict[str, Any]:
    """An entry as a line of JSON has it. `slugs` is of slugs_of."""
    return {
        "id": entry.pk,
        "at": entry.at.timestamp(),
        "actor": {
            "kind": entry.actor_kind,
            "name": entry.actor_name,
            "person": entry.actor_id,
            "token": entry.token,
            "address": entry.address,
            "door": entry.door,
        },
        "action": entry.action,
        "kind": entry.kind,
        "subject": entry.subject,
        "subject_id": entry.subject_id,
        "person": entry.person_id,
        "projects": [slugs[number] for number in entry.projects if number in slugs],
        "changes": entry.changes,
        "rows": entry.rows,
    }


def slugs_of(user: Person | None, entries: Iterable[AuditEntry]) -> dict[int, str]:
    """The projects that the entries are in, by number, as far as `user` may know of them."""
    numbers = {number for entry in entries for number in entry.projects}
    if user is None or _reads_all(user):
        gone = {number: f"project {number}" for number in numbers}
        return gone | dict(Project.objects.filter(pk__in=numbers).values_list("pk", "slug"))
    return dict(visible_projects(user).filter(pk__in=numbers).values_list("pk", "slug"))


def lines_after(user: Person | None, wanted: EntryFilter, after: int, limit: int) -> tuple[list[str], int]:
    """The next entries as lines of JSON, and the number to go on from. Raises as readable_entries does."""
    settled = newest_settled()
    found = filtered(readable_entries(user), wanted).filter(pk__gt=after, pk__lte=settled)
    entries = list(found.order_by("pk")[:limit])
    slugs = slugs_of(user, entries)
    lines = [json.dumps(document(entry, slugs), ensure_ascii=False) + "\n" for entry in entries]
    return lines, entries[-1].pk if len(entries) == limit else max(after, settled)


def _reads_all(user: Person) -> bool:
    return user.is_active and user.is_superuser
