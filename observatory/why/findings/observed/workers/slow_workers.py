"""Workers whose tasks take longer than tasks of the same prefixes take elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from observatory.replay.windows.stragglers import FEWEST
from observatory.why.findings.observed.tasks.computations import Computations
from observatory.why.intervals import Flags, Integers, Numbers

RATIO = 1.5
"""how much longer the tasks of a slow worker take, as a median over its tasks weighted by their time"""
LEAST_RATIO = 1.2
"""lower end of the confidence interval"""
FEWEST_TASKS = 3
"""of a worker that is compared"""
SHORTEST = 0.05
"""seconds that tasks usually take which tell how fast a worker is"""
LEAST_DEVIATION = 0.05
"""of a logarithm of durations: what equal tasks differ by"""
QUANTILE = 2.576
"""of the normal distribution: its interval is the true value in 99 % of cases"""
NEARLY = 0.8
MOST_COMPARED = 32
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
    interval: tuple[float, float]
    """in which the ratio is by 99 %"""


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
    if len(workers) > MOST_COMPARED:  # the median of all is nearly that of the others
        workers, medians = workers[medians >= RATIO * NEARLY], medians[medians >= RATIO * NEARLY]
    return [int(id) for id in workers[np.argsort(-medians, kind="stable")][:MOST_COMPARED]]


def _compared(computations: Computations, ids: tuple[int, ...], host: str) -> SlowWorker | None:
    """The workers as slow ones; None: they aren't slower than the others."""
    spans = computations.spans
    is_there = np.isin(spans.worker, ids)
    parts = list(_prefixes(computations, is_there))
    if not parts:
        return None
    rows = np.concatenate([rows for rows, _ in parts])
    usual = np.concatenate([np.full(len(rows), seconds) for rows, seconds in parts])
    ratio = _weighted_median(computations.durations[rows] / usual, usual)
    if len(rows) < FEWEST_TASKS or ratio < RATIO:
        return None
    interval = _interval(computations, is_there, rows, usual)
    return SlowWorker(ids, host, rows, usual, ratio, interval) if interval[0] >= LEAST_RATIO else None


def _weighted_median(values: Numbers, weights: Numbers) -> float:
    order = np.argsort(values, kind="stable")
    passed = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(passed, passed[-1] / 2)])


def _interval(
    computations: Computations, is_there: Flags, rows: Integers, usual: Numbers
) -> tuple[float, float]:
    """The confidence interval of the ratio: Welch's, of logarithms of durations weighted by time.

    One large partition widens it, so that it makes no worker slow.
    """
    durations, spans = computations.durations, computations.spans
    prefixes, first = np.unique(spans.prefix[rows], return_index=True)
    medians = dict(zip(prefixes.tolist(), usual[first].tolist(), strict=True))
    others = np.flatnonzero(np.isin(spans.prefix, prefixes) & computations.finished & ~is_there)
    elsewhere = np.array([medians[id] for id in spans.prefix[others].tolist()])
    mean, variance, count = _mean(durations[rows], usual)
    other_mean, other_variance, other_count = _mean(durations[others], elsewhere)
    parts = variance / count, other_variance / other_count
    freedom = sum(parts) ** 2 / (
        parts[0] ** 2 / max(count - 1, 1.0) + parts[1] ** 2 / max(other_count - 1, 1.0)
    )
    half = _student(freedom) * float(np.sqrt(sum(parts)))
    between = mean - other_mean
    return float(np.exp(between - half)), float(np.exp(between + half))


def _mean(durations: Numbers, usual: Numbers) -> tuple[float, float, float]:
    """Mean and variance of the logarithms of durations, as usual ones, and as how many tasks they count."""
    logarithms = np.log(np.maximum(durations, 1e-6) / usual)
    weights = usual / usual.sum()
    mean = float((weights * logarithms).sum())
    count = float(1 / (weights**2).sum())
    variance = float((weights * (logarithms - mean) ** 2).sum()) * count / max(count - 1, 1.0)
    return mean, max(variance, LEAST_DEVIATION**2), count


def _student(freedom: float) -> float:
    """The quantile of Student's distribution, by its expansion (Abramowitz and Stegun, 26.7.5)."""
    z = QUANTILE
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def _prefixes(computations: Computations, is_there: np.ndarray) -> Iterator[tuple[Integers, float]]:
    """Of each prefix that is elsewhere as well: its rows there, and the median elsewhere in seconds."""
    spans, finished = computations.spans, computations.finished
    for prefix in np.unique(spans.prefix[is_there & finished]).tolist():
        of_prefix = (spans.prefix == prefix) & finished
        elsewhere = computations.durations[of_prefix & ~is_there]
        if len(elsewhere) >= FEWEST and np.median(elsewhere) >= SHORTEST:
            yield np.flatnonzero(of_prefix & is_there), float(np.median(elsewhere))
