"""The API's answers: what would have helped a window most, and what a change would have done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import psycopg

from observatory.replay.scope import Scope
from observatory.runs.other_work import other_work_in
from observatory.store.queries.timeline import snapshot
from observatory.store.queries.windows.prefixes import prefix_names
from observatory.why.what_if.change import Change, Predictor
from observatory.why.what_if.recorded.reading import read_window
from observatory.why.what_if.simulation.workers import AbsenceKind
from observatory.why.window import readable_part

MOST_CHANGES, MOST_PREFIXES = 3, 50
MOST_TRIED_PREFIXES = 3
LEAST_SAVED = 0.01
"""of the window, that a change is offered from"""
SIZES = (0.25, 0.5, 1, 2, 4)
"""times the workers of the window"""

Item = dict[str, Any]


def what_if(connection: psycopg.Connection, scope: Scope, after: int, before: int) -> Item:
    """Return what would have helped [after, before) (microseconds) most. Raises TooManyTasks."""
    start, stop = readable_part(connection, scope, after, before)
    with snapshot(connection):
        others = other_work_in(connection, scope, stop)
        window = read_window(connection, scope.cluster.pk, start, stop, others)
        names = prefix_names(connection, scope.cluster.pk)
    answer: Item = {
        "start": start / 1e6,
        "stop": stop / 1e6,
        "has_agent": window.has_agent,
        "seconds": (stop - start) / 1e6,
        "simulated": None,
        "workers": 0,
        "threads": 0,
        "doubts": [],
        "changes": [],
        "sizes": [],
        "prefixes": [],
    }
    predictor = window.predictor
    if predictor is None:
        return answer
    prefixes = [{"prefix": id, "name": scope.text(names[id])} for id in _prefixes(predictor) if id in names]
    return answer | {
        "simulated": predictor.simulated + predictor.observed - predictor.last,
        "workers": len(predictor.recorded_workers),
        "threads": predictor.threads,
        "doubts": window.doubts(),
        "changes": _changes(predictor),
        "sizes": _sizes(predictor),
        "prefixes": prefixes[:MOST_PREFIXES],
    }


def prediction(connection: psycopg.Connection, scope: Scope, after: int, before: int, change: Change) -> Item:
    """Return what `change` would have done to [after, before) (microseconds). Raises TooManyTasks."""
    start, stop = readable_part(connection, scope, after, before)
    with snapshot(connection):
        others = other_work_in(connection, scope, stop)
        window = read_window(connection, scope.cluster.pk, start, stop, others)
    predictor = window.predictor
    return {
        "start": start / 1e6,
        "stop": stop / 1e6,
        **(
            {"seconds": None, "least": None, "most": None}
            if predictor is None
            else _predicted(predictor, change)
        ),
        "naive": None if predictor is None else predictor.naive(change),
        "doubts": window.doubts(change),
    }


def _predicted(predictor: Predictor, change: Change) -> Item:
    return asdict(predictor.predict(change))


def _prefixes(predictor: Predictor) -> list[int]:
    """By the time that they computed."""
    ids, code = np.unique(predictor.plan.computing.prefix, return_inverse=True)
    seconds = np.bincount(code, weights=predictor.plan.seconds, minlength=len(ids))
    found: list[int] = ids[np.argsort(-seconds, kind="stable")].tolist()
    return found


def _candidates(predictor: Predictor) -> Iterator[Change]:
    yield Change(workers=2 * len(predictor.recorded_workers))
    yield Change(threads=2 * predictor.threads)
    for prefix in _prefixes(predictor)[:MOST_TRIED_PREFIXES]:
        yield Change(prefix=prefix, times_as_fast=2.0)
    yield Change(no_transfers=True)
    if predictor.plan.disk_seconds.any() or _absences(predictor, AbsenceKind.PAUSED):
        yield Change(unlimited_memory=True)
    joins = [worker.joins for worker in predictor.recorded_workers]
    if max(joins) > min(joins) or _absences(predictor, AbsenceKind.LEFT):
        yield Change(from_start=True)


def _absences(predictor: Predictor, kind: AbsenceKind) -> bool:
    """Whether any worker was absent so."""
    return any(one.kind is kind for worker in predictor.recorded_workers for one in worker.absences)


def _changes(predictor: Predictor) -> list[Item]:
    """The changes that would have saved most."""
    tried = [(predictor.predict(change), change) for change in _candidates(predictor)]
    helped = [one for one in tried if one[0].seconds <= (1 - LEAST_SAVED) * predictor.observed]
    helped.sort(key=lambda one: one[0].seconds)
    return [asdict(change) | asdict(predicted) for predicted, change in helped[:MOST_CHANGES]]


def _sizes(predictor: Predictor) -> list[Item]:
    """Of some numbers of workers, how long the window would have taken."""
    before = len(predictor.recorded_workers)
    counts = sorted({max(1, round(before * size)) for size in SIZES})
    changes = [Change() if count == before else Change(workers=count) for count in counts]
    return [
        {"workers": count, "naive": predictor.naive(change)} | _predicted(predictor, change)
        for count, change in zip(counts, changes, strict=True)
    ]
