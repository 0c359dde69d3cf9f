"""What was found in a run about the tasks of one of its errors, besides that they failed."""

from __future__ import annotations

from typing import Any

from observatory.runs.models import RunError
from observatory.why.findings.kinds import finding_kinds


def finding_of(error: RunError) -> dict[str, Any] | None:
    """The most costly finding of the run about the error's prefix, as in `RunFindings.all`."""
    known = error.run.known_findings
    for finding in known.all if known is not None else ():
        kind = finding_kinds().get(finding["kind"])
        if kind is not None and not kind.is_failure and error.prefix in finding["prefixes"]:
            return dict(finding)
    return None
