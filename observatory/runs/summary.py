"""A run in a sentence, and lengths of time in words."""

from __future__ import annotations

from observatory.runs.models import Run


def summary(run: Run) -> str:
    """“1,234 tasks in 2 min 31 s on 4 workers, 3 with errors”."""
    words = [f"{run.tasks:,} task{'' if run.tasks == 1 else 's'}"]
    if run.stop is not None:
        words.append(f"in {duration_words((run.stop - run.start).total_seconds())}")
    workers = run.figures.get("workers")
    if workers:
        words.append(f"on {workers:,} worker{'' if workers == 1 else 's'}")
    errors = f", {run.errors:,} with errors" if run.errors else ""
    return " ".join(words) + errors


def duration_words(seconds: float) -> str:
    """“2.3 s”, “2 min 31 s”, “3 h 12 min”."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
