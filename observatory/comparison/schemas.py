"""The schema of a comparison. `a` is the run, `b` what it is compared with."""

from __future__ import annotations

from typing import Literal

from ninja import Schema

from observatory.comparison.card.schemas import RaisedByCode


class ComparedRun(Schema):
    id: int
    name: str
    cluster: str
    start: float
    """seconds since the epoch on the scheduler's clock"""
    seconds: float
    outcome: str
    tags: dict[str, str]


class ComparedFigure(Schema):
    """A figure of `a` and of `b`, the median where these are several. null: not known, or not defined."""

    name: str
    unit: Literal["seconds", "share", "bytes", "count"]
    a: float | None
    b: float | None
    difference: float | None
    ratio: float | None


class PrefixSide(Schema):
    """The tasks of a prefix in a run."""

    count: float
    seconds: float
    shortest: float
    quantiles: list[float]
    """of the durations in seconds, at the levels in `test`"""
    longest: float
    histogram: list[tuple[int, float]]
    """bins of durations and their tasks"""
    nbytes: float
    transfer_seconds: float


class ComparedPrefix(Schema):
    """`p`, `ratio`, `others` and `cost` are null where nothing was tested."""

    name: str
    color: str
    verdict: Literal["slower", "faster", "only in a", "only in b", "too few tasks", ""]
    a: PrefixSide | None
    b: PrefixSide | None
    ratio: float | None
    others: float | None
    p: float | None
    cost: float | None
    """seconds"""


class MemoryCurves(Schema):
    width: float
    """of a bin, in seconds"""
    lines: list[list[float | None]]
    """most bytes of all workers in each bin, of `a` and of the newest of `b`"""


class AlignedRun(Schema):
    """The memory of a run since its start."""

    id: int
    name: str
    cluster: int
    cluster_name: str
    start: float
    """seconds since the epoch on the scheduler's clock"""
    seconds: float
    """that it lasted; of an open run, until its cluster's newest record"""
    outcome: Literal["running", "finished", "erred", "lost", "unseen"]
    peak: float | None
    """bytes; null: no memory was recorded"""
    line: list[float | None]
    """most bytes of all workers together in each bin"""


class AlignedMemory(Schema):
    """Runs that don't exist, or that one may not see, are left out."""

    measure: Literal["process", "managed", "unmanaged", "spilled"]
    width: float
    """of a bin, in seconds"""
    runs: list[AlignedRun]


class ComparedFact(Schema):
    kind: str
    name: str
    a: str
    b: str


class FindingSide(Schema):
    """A finding of a run, with its costs in seconds of threads and of the run."""

    sentence: str
    thread_seconds: float
    wall_seconds: float


class ComparedFinding(Schema):
    """Findings of the same cause; `more` and `less` are differences of at least a quarter and a second."""

    verdict: Literal["new", "gone", "more", "less", "same"]
    kind: str
    a: FindingSide | None
    b: FindingSide | None


FindingsState = Literal["found", "none", "too-large", "gone", "looking", "failed", "marked"]


class ComparedFindings(Schema):
    """The findings of `a` and of the newest of `b`; no pairs unless both are `found` or `none`.

    A state is null until the run has ended and was looked at.
    """

    a: FindingsState | None
    b: FindingsState | None
    pairs: list[ComparedFinding]


class TestParameters(Schema):
    """What significance was tested with."""

    margin: float
    level: float
    fewest: int
    least_share: float
    quantiles: list[float]
    bins_of_octave: int
    shortest: float


class Comparison(Schema):
    a: ComparedRun
    b: list[ComparedRun]
    figures: list[ComparedFigure]
    prefixes: list[ComparedPrefix]
    more_prefixes: int
    memory: MemoryCurves
    findings: ComparedFindings
    differ: list[ComparedFact]
    same: list[ComparedFact]
    test: TestParameters


class LabelValue(Schema):
    value: str
    workers: int


class WorkerLabel(Schema):
    """A label of a run's workers: one that they were given, a resource, their release, machine or host."""

    name: str
    values: list[LabelValue]
    """those with most workers first; “unknown” are workers without the label"""
    more_values: int
    """that are left out"""
    differs: bool
    """whether it has two values, which can be compared"""


class ComparedGroup(Schema):
    """The workers with one value of the label."""

    value: str
    workers: int
    threads: int
    thread_seconds: float
    """that the threads existed in the run, summed"""


class WorkersComparison(Schema):
    """A comparison of workers within a run."""

    run: ComparedRun
    label: str
    a: ComparedGroup
    b: ComparedGroup
    figures: list[ComparedFigure]
    prefixes: list[ComparedPrefix]
    more_prefixes: int
    memory: MemoryCurves
    """of the process of a worker, in the mean of `a` and of `b`"""
    differ: list[ComparedFact]
    same: list[ComparedFact]
    test: TestParameters


class CheckCriterion(Schema):
    """One thing that was checked. `value` and `usual` have the unit; null: not recorded, or no figure."""

    name: Literal["outcome", "duration", "pace", "prefixes", "memory", "errors"]
    verdict: Literal["worse", "unclear", "fine", "skipped"]
    sentence: str
    unit: Literal["seconds", "bytes", "count"]
    value: float | None
    usual: float | None
    """median of the earlier runs"""
    ratio: float | None
    spread: float | None
    """how much the earlier runs vary: the standard deviation of logarithms; null: too few say it"""
    noticed: float | None
    """the least increase, as a share, of which 95 in 100 are called worse; null: too few runs say it"""


class SlowerPrefix(Schema):
    name: str
    ratio: float
    cost: float
    """seconds"""
    p: float


class CheckedFinding(FindingSide):
    kind: str


class CheckedFindings(Schema):
    state: FindingsState | None
    """null: the run was not looked at yet"""
    compared: int
    """earlier runs that were looked at"""
    new: list[CheckedFinding]
    """that none of these has"""


class RunCheck(Schema):
    """`unclear`: too few earlier runs, or runs that vary too much; `skipped` criteria don't count."""

    run: ComparedRun
    verdict: Literal["worse", "unclear", "fine"]
    headline: str
    """what grew, and since when; "" if the run isn't worse"""
    earlier: list[ComparedRun]
    """newest first; those since the last lasting change of their duration"""
    left_out: int
    """selected runs before that change"""
    criteria: list[CheckCriterion]
    raised: RaisedByCode | None
    """the exception that ended its code, if its client told"""
    slower: list[SlowerPrefix]
    """prefixes whose tasks are slower by more than the limit, the most costly first"""
    findings: CheckedFindings


class CheckAnswer(Schema):
    missing: Literal["", "end", "figures", "findings"]
    """what the run doesn't have yet: ask again"""
    check: RunCheck | None
    """null until the run has ended and its figures are counted"""
