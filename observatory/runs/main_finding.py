"""The main finding of a run, as the API and the card have it."""

from __future__ import annotations

from typing import Any

from observatory.runs.models import Run

FIELDS = ("state", "kind", "sentence", "thread_seconds", "wall_seconds")


def main_finding_of(run: Run) -> dict[str, Any] | None:
    """None: the run wasn't looked at yet."""
    known = run.known_findings
    return None if known is None else {name: getattr(known, name) for name in FIELDS}
