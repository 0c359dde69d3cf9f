"""Clocks of workers that differ from the scheduler's."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address

from observatory.clusters.formatting import format_duration
from observatory.why.findings.evidence import Evidence
from observatory.why.findings.finding import Cost, Finding, FindingKind
from observatory.why.findings.texts import counted, facts

LEAST = 0.1
"""seconds"""


def find(evidence: Evidence) -> Iterator[Finding]:
    """One finding for all workers."""
    largest: dict[int, tuple[float, float]] = {}
    for event in evidence.events("clock-differs"):
        seconds = event.detail.get("seconds") if isinstance(event.detail, dict) else None
        if not isinstance(seconds, (int, float)) or abs(seconds) < LEAST:
            continue
        if event.worker and not _is_on_the_same_machine(evidence, event.worker):
            largest[event.worker] = max(
                largest.get(event.worker, (0.0, 0.0)), (float(seconds), event.time), key=_size
            )
    if not largest:
        return
    workers = sorted(largest, key=lambda id: -abs(largest[id][0]))
    seconds, time = largest[workers[0]]
    yield Finding(
        f"The {'clock' if len(workers) == 1 else 'clocks'} of {counted(len(workers), 'worker')} "
        f"{'differs' if len(workers) == 1 else 'differ'} from the scheduler's, by up to "
        f"{format_duration(abs(seconds))}.",
        Cost(),
        facts(*((evidence.worker(id), _text(largest[id][0])) for id in workers[:10])),
        (evidence.moment("the largest difference was seen", time),),
        workers=tuple(workers),
    )


def _is_on_the_same_machine(evidence: Evidence, worker: int) -> bool:
    """Whether the scheduler is on its machine, so that both have one clock: its heartbeats were late."""
    try:
        return ip_address(evidence.hosts.get(worker, "")).is_loopback
    except ValueError:
        return False


def _size(found: tuple[float, float]) -> float:
    return abs(found[0])


def _text(seconds: float) -> str:
    return f"{format_duration(abs(seconds))} {'behind' if seconds > 0 else 'ahead'}"


KIND = FindingKind(
    title="clocks that differ",
    advice="Let the machines synchronize their clocks (NTP, chrony). Dask corrects the times of tasks, but "
    "not those in logs.",
    documentation="https://docs.dask.org/en/stable/deployment-considerations.html",
    find=find,
)
