"""Runs unprepared workloads and their twins, and compares what was found with what was planted.

What the causes cost is the run's time above the median of its twins.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from distributed import Client

from benchmarks.explaining.recording import read_answers, record
from benchmarks.explaining.windows import OF_THE_MACHINE, read_windows
from benchmarks.measuring.results import Result, print_results
from benchmarks.measuring.server import new_observatory
from benchmarks.unprepared.standing_in import ComputesOrWaits
from benchmarks.unprepared.workload import Workload

COST_ERROR = 0.3
LEAST_FIRST, LEAST_COSTS = 0.9, 0.85
MOST_WRONG_HEALTHY, MOST_WRONG_A_RUN = 1, 0.3
LEAST_SAME = 0.9
"""of windows that are half or twice as long"""


@dataclass(frozen=True)
class Judgement:
    """Of one workload."""

    name: str
    causes: tuple[str, ...]
    places: tuple[int | None, ...]
    """of the finding of each cause, from 1; None: not found"""
    cost: float
    """wall seconds of the findings of the causes"""
    saved: float | None
    """by the median of the twins; None where that isn't what the causes cost"""
    wrong: tuple[str, ...]
    """kinds of the findings that are none of the causes"""
    sentences: tuple[str, ...]
    windows: tuple[bool, ...] = ()
    """whether a planted cause is the first finding of half of the run, and of twice its length; empty: it
    isn't that of the run"""

    @property
    def is_first(self) -> bool:
        return 1 in self.places

    @property
    def error(self) -> float | None:
        return None if self.saved is None else abs(self.cost - self.saved) / max(self.saved, 0.1)


def judge(workloads: Sequence[Workload], which: str, twins: int) -> int:
    """Print the table to standard error and the JSON line; returns the exit code."""
    took: dict[str, float] = {}
    with new_observatory() as (server, token):
        for one in workloads:
            for name, has_cause in _runs(one, twins):
                work = partial(_work, one, has_cause)
                options = one.options if has_cause else one.options_without
                plugin = ComputesOrWaits(one.work.__module__)
                took[name] = record(server, token, name, work, options, plugin)
                print(f"{name}: {took[name]:.1f} s", file=sys.stderr, flush=True)
        answers, windows = read_answers(server), read_windows(server)
    judgements = [
        _judgement(one, answers[one.name]["findings"], windows.get(one.name, ()), took, twins)
        for one in workloads
    ]
    _print(judgements)
    details = [{**vars(one), "error": one.error} for one in judgements]
    return print_results(
        f"why, {which}",
        _results(judgements),
        ("dask", "distributed"),
        workloads=details,
    )


def _runs(workload: Workload, twins: int) -> Iterable[tuple[str, bool]]:
    yield workload.name, True
    if workload.causes and workload.has_cost:
        for number in range(1, twins + 1):
            yield _twin(workload, number), False


def _twin(workload: Workload, number: int) -> str:
    return f"{workload.name}, twin {number}"


def _work(workload: Workload, has_cause: bool, client: Client) -> None:
    workload.work(client, has_cause)


def _judgement(
    workload: Workload,
    findings: Sequence[dict[str, Any]],
    windows: Sequence[str | None],
    took: dict[str, float],
    twins: int,
) -> Judgement:
    findings = [one for one in findings if one["kind"] != OF_THE_MACHINE]
    kinds = [one["kind"] for one in findings]
    wanted = frozenset().union(*workload.causes)
    without = [took[name] for name, has_cause in _runs(workload, twins) if not has_cause]
    return Judgement(
        workload.name,
        tuple(" or ".join(sorted(cause)) for cause in workload.causes),
        tuple(
            next((place for place, kind in enumerate(kinds, 1) if kind in cause), None)
            for cause in workload.causes
        ),
        sum(_cost(cause, findings) for cause in workload.causes),
        took[workload.name] - statistics.median(without) if without else None,
        tuple(kind for kind in kinds if kind not in wanted),
        tuple(one["sentence"] for one in findings),
        tuple(kind in wanted for kind in windows) if kinds and kinds[0] in wanted else (),
    )


def _cost(cause: frozenset[str], findings: Sequence[dict[str, Any]]) -> float:
    """Wall seconds of a cause: of the findings of one kind, as the kinds of a cause are names of the same."""
    kind = next((one["kind"] for one in findings if one["kind"] in cause), None)
    return float(sum(one["wall_seconds"] for one in findings if one["kind"] == kind))


def _results(judgements: Sequence[Judgement]) -> list[Result]:
    healthy = [one for one in judgements if not one.causes]
    planted = [one for one in judgements if one.causes]
    costs = [one.error for one in planted if one.error is not None]
    windows = [is_same for one in planted for is_same in one.windows]
    return [
        Result(
            "a planted cause is the first finding",
            f"{len(planted)} workloads",
            _mean([one.is_first for one in planted]),
            LEAST_FIRST,
            at_least=True,
        ),
        Result(
            "the cost is within 30 % of what the twins save",
            f"{len(costs)} workloads",
            _mean([error <= COST_ERROR for error in costs]),
            LEAST_COSTS,
            at_least=True,
        ),
        Result(
            "findings of healthy workloads",
            f"{len(healthy)} workloads",
            sum(len(one.wrong) for one in healthy),
            MOST_WRONG_HEALTHY,
        ),
        Result(
            "findings beside the causes, a run",
            f"{len(planted)} workloads",
            _mean([len(one.wrong) for one in planted]),
            MOST_WRONG_A_RUN,
        ),
        Result(
            "windows half and twice as long with a planted cause first",
            f"{len(windows)} windows",
            _mean(windows),
            LEAST_SAME,
            at_least=True,
        ),
    ]


def _mean(values: Sequence[float]) -> float:
    return round(statistics.fmean(values), 3) if values else 0.0


def _print(judgements: Iterable[Judgement]) -> None:
    print(f"{'workload':46} {'place':>8} {'cost':>6} {'saved':>6} {'error':>6}  beside", file=sys.stderr)
    for one in judgements:
        places = ", ".join(str(place or "-") for place in one.places)
        saved = "" if one.saved is None else f"{one.saved:6.1f}"
        error = "" if one.error is None else f"{one.error:6.0%}"
        beside = ", ".join(one.wrong)
        print(f"{one.name:46} {places:>8} {one.cost:6.1f} {saved:6} {error:6}  {beside}", file=sys.stderr)
        for sentence in one.sentences[:3]:
            print(f"    {sentence}", file=sys.stderr)
