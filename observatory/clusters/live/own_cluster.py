"""Observatory as a cluster: its own metrics are series of it, so that rules on them are rules like any other.

It has a project of its own, which no list of projects or clusters has.
"""

from __future__ import annotations

from itertools import count

from django.db import transaction
from django.utils.timezone import now

from observatory.clusters.models import Cluster, Project

NAME = "Observatory"
INTERVAL = 30.0
"""seconds between two samples (settings.CELERY_BEAT_SCHEDULE)"""


def own_cluster() -> Cluster:
    """Creates it if it is missing."""
    found = Cluster.objects.filter(project__is_own=True).first()
    return found or _make()


@transaction.atomic
def _make() -> Cluster:
    project, _ = Project.objects.get_or_create(is_own=True, defaults=_free_name())
    at = now()
    cluster, _ = Cluster.objects.get_or_create(
        project=project,
        scheduler_id=NAME,
        defaults={
            "name": NAME,
            "started": at,
            "last_seen": at,
            "identity_interval": INTERVAL,
            "metrics_interval": INTERVAL,
        },
    )
    return cluster


def _free_name() -> dict[str, str]:
    """A name and slug that no other project has."""
    for number in count():
        suffix = f" {number}" if number else ""
        fields = {"name": f"{NAME} itself{suffix}", "slug": f"observatory-itself{suffix.replace(' ', '-')}"}
        if not any(Project.objects.filter(**{field: value}).exists() for field, value in fields.items()):
            return fields
    raise AssertionError("unreachable")
