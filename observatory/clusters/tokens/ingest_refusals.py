"""Records that batches of agents were refused, for `doctor` and the project's page."""

from __future__ import annotations

import time
from datetime import timedelta

from django.db import DatabaseError
from django.db.models import QuerySet
from django.utils.timezone import now

from observatory.clusters.models import Project
from observatory.clusters.tokens.models import IngestRefusal, IngestToken

RESOLUTION = 10.0
"""seconds between two updates of a row by this process: anybody can send unknown tokens"""
CURRENT = timedelta(minutes=5)
"""how long a refusal is shown; an agent tries again after 30 s"""
MOST_REMEMBERED = 10_000

_recorded: dict[tuple[int | None, str], float] = {}
"""by token and reason: when this process last recorded it (monotonic)"""


def record(reason: IngestRefusal.Reason, detail: str, address: str, token: IngestToken | None) -> None:
    """Records a refusal. Does nothing when the database is away: the agent's answer matters more."""
    key = (token.pk if token else None, reason.value)
    at = time.monotonic()
    if at - _recorded.get(key, -RESOLUTION) < RESOLUTION:
        return
    if len(_recorded) >= MOST_REMEMBERED:
        _recorded.clear()
    _recorded[key] = at
    fields = {"detail": detail[:300], "address": address[:100], "last": now()}
    try:
        IngestRefusal.objects.update_or_create(token=token, reason=reason, defaults=fields)
    except DatabaseError:
        _recorded.pop(key, None)


def current(project: Project | None = None) -> QuerySet[IngestRefusal]:
    """The refusals of the last minutes: all, or those of a project's tokens."""
    found = IngestRefusal.objects.filter(last__gt=now() - CURRENT).select_related("token__project")
    return (found if project is None else found.filter(token__project=project)).order_by("-last")
