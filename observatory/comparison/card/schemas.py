"""The schema of a run's card. Times are seconds since the epoch on the scheduler's clock."""

from __future__ import annotations

from typing import Literal

from ninja import Schema

from observatory.replay.answers.shared_fields import shared
from observatory.replay.scope import Section
from observatory.runs.api import MainFinding, TasksOfRun


@shared("time", "type", "message", "key")
class FirstError(Schema):
    time: float
    type: str
    message: str
    key: str


@shared("type", "message", "function", "file", "line", "traceback")
class RaisedByCode(Schema):
    """The exception that ended the code of a run, and the last place in its own code; "" and 0: not known."""

    type: str
    message: str
    function: str
    file: str
    line: int
    traceback: str


@shared("name", "seconds", "share")
class BusyTime(Schema):
    """Time of the threads, by what they did; `share` is of the time that threads existed."""

    name: Literal["compute", "transfer", "disk", "serialize", "others", "idle"]
    seconds: float
    share: float


@shared("name", "tasks", "seconds", "share", "shortest", "median", "p95", "longest", "histogram")
class CardPrefix(Schema):
    name: str
    tasks: int
    seconds: float
    """computing time, summed over threads"""
    share: float
    """of the run's computing time"""
    shortest: float | None
    """seconds that a task computed, as recorded; null until the run is counted again"""
    median: float | None
    p95: float | None
    longest: float | None
    histogram: list[tuple[int, int]]
    """tasks by duration: bin n is from 2^(n/4) to 2^((n+1)/4) microseconds"""


@shared("time", "tasks", "seconds", code=Section.CODE)
class CardComputation(Schema):
    time: float
    code: str
    """as far as Dask recorded it"""
    tasks: int
    seconds: float
    """from its submission to the end of its last task"""


class UnusualFigure(Schema):
    """A figure that differs from earlier runs of the same name by more than these vary."""

    name: str
    unit: Literal["seconds", "share", "bytes", "count"]
    value: float
    usual: float


class CardHistory(Schema):
    """The last finished runs of the same name before this one."""

    durations: list[float]
    """seconds, oldest first, without this run's"""
    verdict: str
    """how long the run took against them, in words: by how much, since when, and what grew; "" if unknown"""
    is_known: bool
    """whether there are enough runs to say what is usual"""
    unusual: list[UnusualFigure]


class CardNote(Schema):
    time: float
    stop: float | None
    text: str
    author: str | None


class CardCost(Schema):
    """At the prices that the project has now."""

    amount: float
    currency: str
    thread_seconds: float
    memory_seconds: float
    """bytes of the workers' memory limits times seconds"""
    worker_seconds: float


class CardBatchJob(Schema):
    """A job of a batch system in which workers of the run ran. Cores and memory are on each of its nodes."""

    system: str
    """slurm, pbs, lsf or htcondor"""
    id: str
    array: str
    """the array that it is one of; "" if none"""
    restarts: int
    """how often it was requeued before"""
    name: str
    queue: str
    account: str
    hosts: list[str]
    """the first twenty on which there were workers"""
    nodes: int
    workers: int
    cores: int | None
    """asked; null: not known"""
    memory: int | None
    """bytes asked; null: not asked, or not known"""
    time_limit: float | None
    """seconds"""
    started: float
    """by the batch system, otherwise when its first worker came"""
    waited: float | None
    """seconds in the queue; null: not known"""
    seconds: float
    """from its start to the end of its last worker, or of the run"""
    peak_memory: float | None
    """bytes of its workers' processes at a time; null: no samples"""
    spilled: float
    """bytes on disk at most"""
    mean_cores: float | None
    """CPU seconds of its workers' processes by seconds"""


class CardRecommended(Schema):
    memory: int
    """bytes on a node"""
    margin: float
    """by how much it is more than the peak: 0.2 is 20 %"""
    spills_at: float | None
    """the share of its limit below which each worker stays with it; null: by the margin alone"""
    setting: str
    """as the batch system wants it; "" where that depends on the site"""


class CardRequest(Schema):
    """The jobs that asked for the same, and what would have been enough. Amounts are on a node of a job."""

    system: str
    queue: str
    option: str
    """with which memory was asked"""
    memory: int | None
    cores: int | None
    jobs: int
    nodes: int
    workers: int
    peak_memory: float | None
    peak_job: str
    """the job of the peak"""
    mean_memory: float | None
    spilled: float
    mean_cores: float | None
    most_cores: float | None
    """in the mean of five seconds"""
    waited: float | None
    """median of the jobs of which it is known"""
    longest_wait: float | None
    waits_known: int
    verdict: Literal["less", "fits", "spilled", "short", "not-asked", "unknown", "running"]
    """whether less memory would have been enough, or why nothing is recommended"""
    recommended: CardRecommended | None
    fewer_cores: int | None
    """cores that would have been enough; null: not fewer than asked, or not known"""


class CardBatchJobs(Schema):
    count: int
    workers: int
    """of the run that ran in jobs"""
    jobs: list[CardBatchJob]
    """the first hundred"""
    requests: list[CardRequest]
    """the first ten, that of most nodes first"""
    request_count: int


@shared(
    "name",
    "outcome",
    "start",
    "stop",
    "is_counted",
    "tasks",
    "errors",
    "progress",
    "counted",
    "workers",
    "lifetimes",
    "most_workers",
    "threads",
    "memory_limit",
    "peak_memory",
    "peak_limit",
    "peak_spilled",
    "transferred",
    "times",
    "prefixes",
    "computations",
    "computation_count",
    first_error=Section.TRACEBACKS,
    raised=Section.TRACEBACKS,
    code=Section.CODE,
)
class RunCard(Schema):
    """What a run did, in short. Figures are null until they are counted.

    A public link leaves out user, tags, main finding, batch jobs, notes and history, and error and code
    unless it shares them.
    """

    name: str
    outcome: Literal["running", "finished", "erred", "lost", "unseen"]
    start: float
    stop: float | None
    """null while it is running"""
    user: str
    tags: dict[str, str]
    is_counted: bool
    tasks: int | None
    """computations: each attempt counts"""
    errors: int | None
    """failures of tasks of their own"""
    progress: TasksOfRun | None
    """each task once, as in the progress at the run's end; null: no agent told, or others worked meanwhile"""
    counted: float | None
    """until when a running run was counted; null: it has ended"""
    first_error: FirstError | None
    raised: RaisedByCode | None
    """the exception that ended its code, if its client told"""
    workers: int | None
    """one that was restarted is one"""
    lifetimes: int | None
    """of workers; null in runs that were counted by an earlier version, which counted them as workers"""
    most_workers: int | None
    """at a time, as threads and memory limit"""
    threads: int | None
    memory_limit: int | None
    """bytes, of all workers; 0: none has a limit"""
    peak_memory: float | None
    """bytes"""
    peak_limit: int | None
    """bytes, of the workers that there were at that time; 0: none has a limit"""
    peak_spilled: float | None
    """bytes on disk, which peak_memory doesn't have"""
    transferred: int | None
    """bytes that moved between workers; null: not known"""
    main_finding: MainFinding | None
    """null until the run has ended and was looked at, and on public links"""
    cost: CardCost | None
    """null without a price of the project, and on public links"""
    times: list[BusyTime]
    prefixes: list[CardPrefix]
    """those that computed longest"""
    code: str
    """that opened the run"""
    computations: list[CardComputation]
    """the first ones"""
    computation_count: int
    batch_jobs: CardBatchJobs | None
    """null: no agent told of a job of a batch system, and on public links"""
    history: CardHistory | None
    notes: list[CardNote]
