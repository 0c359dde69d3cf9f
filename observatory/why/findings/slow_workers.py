"""Workers whose tasks take longer than tasks of the same prefixes take elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from observatory.why.findings.computations import Computations
from observatory.why.intervals import Integers, Numbers

RATIO = 1.5
"""how much longer the tasks of a slow worker take, as a median over its tasks"""
FEWEST_TASKS = 5
"""of a worker that is compared"""
NEARLY = 0.8
MOST = 32
"""workers that are compared with the others: the slowest, relative to the medians of all workers"""


@dataclass(frozen=True, slots=True)
class SlowWorker:
    workers: tuple[int, ...]
    """several: all of a host"""
    host: str
    """empty: it is about one worker"""
    rows: Integers
    """of Computations"""
    usual: Numbers
    """seconds that each row takes on other workers"""
    ratio: float


def slow_workers(computations: Computations, hosts: Mapping[int, str]) -> list[SlowWorker]:
    """Return the slow hosts with at least two workers, and the slow workers of the others."""
    workers = set(_slowest(computations))
    by_host: dict[str, list[int]] = {}
    for id in np.unique(computations.spans.worker).tolist():
        by_host.setdefault(hosts.get(id, ""), []).append(id)
    found = []
    if len(by_host) > 1:
        for host, ids in by_host.items():
            if len(ids) < 2 or not workers.issuperset(ids):
                continue
            slow = _compared(computations, tuple(ids), host)
            if slow is not None and all(_compared(computations, (id,), "") for id in ids):
                found.append(slow)
    on_slow_hosts = {id for slow in found for id in slow.workers}
    if len(np.unique(computations.spans.worker)) > 1:
        single = (_compared(computations, (id,), "") for id in sorted(workers - on_slow_hosts))
        found += [slow for slow in single if slow is not None]
    return found


def _slowest(computations: Computations) -> list[int]:
    spans = computations.spans
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = computations.durations / computations.usual
    known = np.flatnonzero(computations.finished & np.isfinite(ratios))
    order = known[np.lexsort((ratios[known], spans.worker[known]))]
    workers, first, counts = np.unique(spans.worker[order], return_index=True, return_counts=True)
    medians = ratios[order[first + counts // 2]] if len(order) else np.zeros(0)
    if len(workers) > MOST:  # the median of all is nearly that of the others
        workers, medians = workers[medians >= RATIO * NEARLY], medians[medians >= RATIO * NEARLY]
    return [int(id) for id in workers[np.argsort(-medians, kind="stable")][:MOST]]


def _compared(computations: Computations, ids: tuple[int, ...], host: str) -> SlowWorker | None:
    """The workers as slow ones; None: they aren't slower than the others."""
    spans = computations.spans
    is_there = np.isin(spans.worker, ids)
    parts = list(_prefixes(computations, is_there))
    if not parts:
        return None
    rows = np.concatenate([rows for rows, _ in parts])
    usual = np.concatenate([np.full(len(rows), seconds) for rows, seconds in parts])
    ratio = float(np.median(computations.durations[rows] / usual))
    if len(rows) < FEWEST_TASKS or ratio < RATIO:
        return None
    return SlowWorker(ids, host, rows, usual, ratio)


def _prefixes(computations: Computations, is_there: np.ndarray) -> Iterator[tuple[Integers, float]]:
    """Of each prefix that is elsewhere as well: its rows there, and the median elsewhere in seconds."""
    spans, finished = computations.spans, computations.finished
    for prefix in np.unique(spans.prefix[is_there]).tolist():
        of_prefix = (spans.prefix == prefix) & finished
        elsewhere = computations.durations[of_prefix & ~is_there]
        if len(elsewhere) >= FEWEST_TASKS and np.median(elsewhere) > 0:
            yield np.flatnonzero(of_prefix & is_there), float(np.median(elsewhere))
