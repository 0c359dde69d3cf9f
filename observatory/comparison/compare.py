"""Compares a run with another one, or with the median of several, for the page and the API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

import psycopg

from observatory.comparison import significance
from observatory.comparison.environment import differences, facts
from observatory.comparison.findings import compared_findings
from observatory.comparison.memory_over_time import memory_over_time
from observatory.comparison.prefixes import LEAST_SHARE, compared_prefixes
from observatory.comparison.run_summary import BINS_OF_OCTAVE, QUANTILES, RunSummary, RunWindow, summarize
from observatory.runs.models import Run
from observatory.store.queries.timeline import snapshot
from observatory.store.queries.windows.totals import WindowTotals
from observatory.wire.records import Action

Item = dict[str, Any]


def compare(connection: psycopg.Connection, run: Run, others: Sequence[Run]) -> Item:
    """Compares `run` with `others`, newest first; with several, with their median.

    Raises TooLarge. The spans of one run at a time are in memory, about 150 bytes each.
    """
    with snapshot(connection):
        a, *rest = (summarize(connection, each) for each in (run, *others))
        known = facts(connection, a.run, a.window), facts(connection, rest[0].run, rest[0].window)
        memory = memory_over_time(connection, [a.window, rest[0].window])
    differ, same = differences(*known)
    ranked, more = compared_prefixes(a, rest)
    return {
        "a": described(a.run, a.window),
        "b": [described(b.run, b.window) for b in rest],
        "figures": _figures(a, rest),
        "prefixes": ranked,
        "more_prefixes": more,
        "memory": memory,
        "findings": compared_findings(run, others[0]),
        "differ": [asdict(each) for each in differ],
        "same": [asdict(each) for each in same],
        "test": parameters_of_test(),
    }


def parameters_of_test() -> Item:
    """What significance was tested with."""
    return {
        "margin": significance.MARGIN,
        "level": significance.LEVEL,
        "fewest": significance.FEWEST_BLOCKS,
        "least_share": LEAST_SHARE,
        "quantiles": QUANTILES,
        "bins_of_octave": BINS_OF_OCTAVE,
        "shortest": significance.SHORTEST,
    }


def described(run: Run, window: RunWindow) -> Item:
    """A run of a comparison."""
    return {
        "id": run.pk,
        "name": run.name,
        "cluster": run.cluster.name,
        "start": window.start.timestamp(),
        "seconds": window.seconds,
        "outcome": run.get_outcome_display(),
        "tags": run.tags,
    }


def _busy(*actions: Action) -> Callable[[RunSummary], float]:
    return lambda summary: sum(summary.totals.seconds.get(action.label, 0.0) for action in actions)


def idle_share(totals: WindowTotals) -> float | None:
    """The share of the threads' time that wasn't spent computing, without that of others' tasks; or None."""
    seconds = totals.lane_seconds - totals.other_seconds
    if seconds <= 0:
        return None
    return max(0.0, 1 - totals.seconds.get(Action.COMPUTE.label, 0.0) / seconds)


FIGURES: tuple[tuple[str, str, Callable[[RunSummary], float | None]], ...] = (
    # name, unit, value
    ("Duration", "seconds", lambda run: run.window.seconds),
    ("Computing, all threads", "seconds", _busy(Action.COMPUTE)),
    ("Transfers", "seconds", _busy(Action.TRANSFER)),
    ("Disk", "seconds", _busy(Action.DISK_READ, Action.DISK_WRITE)),
    ("Serializing and deserializing", "seconds", _busy(Action.SERIALIZE, Action.DESERIALIZE)),
    ("Idle share of the threads' time", "share", lambda run: idle_share(run.totals)),
    ("Peak memory", "bytes", lambda run: run.totals.peak_memory),
    ("Spilled, peak", "bytes", lambda run: run.totals.peak_spilled),
    ("Transferred", "bytes", lambda run: run.totals.transferred),
    ("Tasks", "count", lambda run: run.totals.tasks),
    ("Errors", "count", lambda run: run.totals.errors),
    ("Workers", "count", lambda run: run.totals.workers),
    ("Lifetimes of workers", "count", lambda run: run.totals.lifetimes),
    ("Threads", "count", lambda run: run.totals.threads),
)


def _figures(a: RunSummary, others: Sequence[RunSummary]) -> list[Item]:
    found = []
    for name, unit, value in FIGURES:
        one, other = value(a), _median([value(b) for b in others])
        found.append({"name": name, "unit": unit, "a": one, "b": other, **difference(one, other, unit)})
    return found


def difference(a: float | None, b: float | None, unit: str) -> Item:
    if a is None or b is None:
        return {"difference": None, "ratio": None}
    return {"difference": a - b, "ratio": a / b if b and unit != "share" else None}


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
