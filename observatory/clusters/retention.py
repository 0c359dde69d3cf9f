"""A retention that is shortened takes effect a day later, so that an error can be undone."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.utils.timezone import now

if TYPE_CHECKING:
    from observatory.clusters.models import Project

WAIT = timedelta(days=1)
FIELDS = ("longer_retention_days", "longer_until")


def delay_shorter(project: Project) -> None:
    """Sets, before `project` is saved, until when the longer retention that is stored still holds.

    A further shortening waits another day, for all of it. Setting it back to what holds cancels it.
    """
    stored = type(project).objects.filter(pk=project.pk).first() if project.pk else None
    if stored is None:
        return
    longer, until = stored.longer_retention_days, stored.longer_until
    held = stored.effective_retention_days
    if project.retention_days >= held:
        longer = until = None
    elif project.retention_days < stored.retention_days:
        longer, until = held, now() + WAIT
    project.longer_retention_days, project.longer_until = longer, until
