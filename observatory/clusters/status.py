"""State of a target, with an explanation."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone

from observatory.clusters.models import Target
from observatory.store.free_space import DISK_FULL, storage_faults


@dataclass(frozen=True, slots=True)
class TargetStatus:
    word: str
    """paused, disk-full, not-stored, waiting, unreachable, stolen, silent, receiving"""
    sentence: str
    """shown to people"""


def target_status(target: Target) -> TargetStatus:
    if not target.enabled:
        return TargetStatus("paused", "Not observed until it is enabled again.")
    faults = storage_faults()
    if faults.database:
        return TargetStatus("disk-full" if faults.database == DISK_FULL else "not-stored", faults.sentence)
    if target.lease_expires is None or target.lease_expires < timezone.now():
        return TargetStatus(
            "waiting", "Waiting for a collector. Check with dask-observatory doctor that one is running."
        )
    if target.last_error:
        return TargetStatus("unreachable", target.last_error)
    if target.stream == Target.Stream.STOLEN:
        return TargetStatus(
            "stolen", "Another subscriber took the event stream: tasks are missing until it is taken back."
        )
    if target.stream == Target.Stream.RECEIVING:
        return TargetStatus("receiving", "Metrics and the event stream arrive.")
    return TargetStatus("silent", "Metrics arrive; the event stream is not there (yet).")
