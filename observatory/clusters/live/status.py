"""State of a target, with an explanation."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone

from observatory.clusters.models import Target
from observatory.store.outages.free_space import DISK_FULL, storage_faults

_ANOTHER = "Another subscriber, perhaps a second Observatory,"
TAKEN_STREAMS = {
    Target.Stream.CONTESTED: f"{_ANOTHER} took the event stream within the last hour, and it was taken back: "
    "a few seconds of tasks are missing. A scheduler has one event stream: close the other subscriber, or "
    "install the agent, which does not need the stream.",
    Target.Stream.STOLEN: f"{_ANOTHER} took the event stream, so no tasks are recorded until it is taken "
    "back. A scheduler has one event stream: close the other subscriber, or install the agent, which does "
    "not need the stream.",
    Target.Stream.YIELDED: f"{_ANOTHER} took the event stream twice within ten minutes, so it is left to "
    "that one for an hour: no tasks are recorded here meanwhile. Close the other subscriber, then pause and "
    "resume the target here, which subscribes at once; or install the agent, which does not need the stream.",
}
"""sentences on event streams that other subscribers took, by the state"""


@dataclass(frozen=True, slots=True)
class TargetStatus:
    word: str
    """paused, disk-full, not-stored, waiting, unreachable, contested, stolen, yielded, silent, receiving"""
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
    if sentence := TAKEN_STREAMS.get(Target.Stream(target.stream)):
        return TargetStatus(target.stream, sentence)
    if target.stream == Target.Stream.RECEIVING:
        return TargetStatus("receiving", "Metrics and the event stream arrive.")
    return TargetStatus("silent", "Metrics arrive; the event stream is not there (yet).")
