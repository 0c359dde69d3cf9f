"""A run in one sentence, for previews of links."""

from __future__ import annotations

from observatory.clusters.formatting import format_count, format_duration
from observatory.runs.models import Run


def summary(run: Run) -> str:
    """ "1,234 tasks in 2 min 31 s on 4 workers, 3 errors"."""
    parts = [_count_of(run.tasks, "task")] if run.counted else []
    if run.stop is not None:
        parts.append(f"in {format_duration((run.stop - run.start).total_seconds())}")
    workers = run.figures.get("workers")
    if workers:
        parts.append(f"on {_count_of(workers, 'worker')}")
    errors = f", {_count_of(run.errors, 'error')}" if run.counted and run.errors else ""
    return " ".join(parts) + errors


def _count_of(number: int, word: str) -> str:
    return f"{format_count(number)} {word}{'' if number == 1 else 's'}"
