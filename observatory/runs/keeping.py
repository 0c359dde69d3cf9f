"""What outlives its project's retention: the records of runs that are pinned, or shared by a valid link."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Exists, OuterRef, Q
from django.utils.timezone import now

from observatory.runs.models import Permalink, Run
from observatory.store.maintenance.retained_windows import Window

AROUND = timedelta(minutes=1)
"""kept before and after a run too: rates and counts at its first moment are made of what was before"""


def kept_windows() -> list[Window]:
    """One a run; of one that goes on up to now."""
    moment = now()
    links = Permalink.objects.filter(
        Q(expires=None) | Q(expires__gt=moment), run=OuterRef("pk"), revoked=None
    )
    runs = Run.objects.filter(Q(pinned=True) | Exists(links))
    return [
        Window(cluster, start - AROUND, (stop or moment) + AROUND)
        for cluster, start, stop in runs.values_list("cluster", "start", "stop")
    ]
