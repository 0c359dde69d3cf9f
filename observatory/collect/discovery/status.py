"""State of a discovery, with an explanation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from observatory.clusters.models import Discovery

GRACE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class DiscoveryStatus:
    word: str
    """paused, waiting, failing, answering"""
    sentence: str
    """shown to people"""


def discovery_status(discovery: Discovery) -> DiscoveryStatus:
    if not discovery.enabled:
        return DiscoveryStatus("paused", "The list is not requested until it is enabled again.")
    overdue = timezone.now() - timedelta(seconds=2 * discovery.interval) - GRACE
    if (discovery.looked or discovery.created) < overdue:
        return DiscoveryStatus(
            "waiting", "Waiting for Celery. Check with dask-observatory doctor that it is running."
        )
    if discovery.looked is None:
        return DiscoveryStatus("waiting", "The list is requested within some seconds.")
    if discovery.error:
        return DiscoveryStatus("failing", discovery.error)
    if discovery.answered is None:
        return DiscoveryStatus("waiting", "The list is being requested.")
    everything = "All listed clusters are targets." if discovery.found else "No cluster is listed."
    return DiscoveryStatus("answering", discovery.warning or everything)
