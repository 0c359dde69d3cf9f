"""What was found in a run about one of its errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from observatory.runs.models import RunError
from observatory.why.findings.kinds import finding_kinds

OF_DEATHS = ("worker-died", "growing-memory", "memory-full", "silent-worker")
"""kinds of findings that can be why workers died, or ran out of memory"""
MEMORY_ERRORS = ("KilledWorker", "MemoryError")

Found = dict[str, Any]


def finding_about(error: RunError) -> Found | None:
    """The first finding of the run about the error: that its tasks failed, or why."""
    failures = (
        finding
        for finding in _of_prefix(error)
        if (kind := finding_kinds().get(finding["kind"])) is not None
        and kind.is_failure
        # findings that an earlier version kept don't name their exception
        and _last_part(finding.get("exception") or error.exception_type) == _last_part(error.exception_type)
    )
    return next(failures, None) or cause_of(error)


def cause_of(error: RunError) -> Found | None:
    """The most costly finding that can be why the tasks of the error failed, besides that they did."""
    if not (error.killed or _last_part(error.exception_type) in MEMORY_ERRORS):
        return None
    return next((finding for finding in _of_prefix(error) if finding["kind"] in OF_DEATHS), None)


def _of_prefix(error: RunError) -> Iterator[Found]:
    known = error.run.known_findings
    for finding in known.all if known is not None else ():
        if error.prefix in finding["prefixes"]:
            yield dict(finding)


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]
