"""The memory of several runs since their starts, as distributed's MemorySampler aligns its samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from observatory.clusters.access import Person
from observatory.comparison.memory_over_time import Line, Measure, memory_over_time
from observatory.comparison.run_summary import RunWindow
from observatory.runs.access import visible_runs
from observatory.runs.models import Run
from observatory.store.queries.timeline import snapshot

MOST_RUNS = 8


def runs_to_align(user: Person, ids: Sequence[int]) -> list[Run]:
    """The runs among `ids` that `user` may see, in the order of `ids`."""
    found = visible_runs(user).defer("contents", "code").in_bulk(list(ids))
    return [found[id] for id in dict.fromkeys(ids) if id in found]


def aligned_memory(connection: psycopg.Connection, runs: Sequence[Run], measure: Measure) -> dict[str, Any]:
    """The most memory of all workers of each run together, in bins of the same width since its start."""
    windows = [RunWindow.of(run) for run in runs]
    with snapshot(connection):
        memory = memory_over_time(connection, windows, measure)
    return {
        "measure": measure,
        "width": memory["width"],
        "runs": [_run(*each) for each in zip(runs, windows, memory["lines"], strict=True)],
    }


def _run(run: Run, window: RunWindow, line: Line) -> dict[str, Any]:
    return {
        "id": run.pk,
        "name": run.name,
        "cluster": run.cluster_id,
        "cluster_name": run.cluster.name,
        "start": window.start.timestamp(),
        "seconds": window.seconds,
        "outcome": run.outcome,
        "peak": max((value for value in line if value is not None), default=None),
        "line": line,
    }
