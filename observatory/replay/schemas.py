"""Schemas of the timeline's JSON. The API documents them; the frontend's types are generated from them.

The API doesn't validate these documents, as that would take longer than making them:
tests/replay/test_schemas.py holds real ones against the schemas.
"""

from __future__ import annotations

from typing import Any, Literal

from ninja import Schema

from observatory.replay.answers.shared_fields import shared


@shared("target", "spill", "pause", "terminate")
class Thresholds(Schema):
    """Thresholds of a worker's memory, as fractions of its limit; of a cluster, Dask's defaults. 0: none."""

    target: float
    spill: float
    pause: float
    terminate: float


class ProjectName(Schema):
    slug: str
    name: str


class TargetStatus(Schema):
    id: int
    name: str
    stream: str
    last_error: str


@shared(
    "name",
    "has_agent",
    "started",
    "first",
    "last",
    "committed",
    "version",
    "sequence",
    "ended",
    "end_reason",
    "stream",
    "now",
    "identity_interval",
    "metrics_interval",
    "tile_bins",
    "band",
    "minimum_level",
    "minimum_span_level",
    "maximum_level",
    "thresholds",
    "is_whole",
    "parts",
    "task_count",
    "error_count",
    "attached_files",
)
class ClusterInfo(Schema):
    """A cluster or a window of it, and constants of its timeline. Times are seconds on the scheduler's clock.

    Through a public link, `id`, `project`, `target`, `scheduler_id` and `address` are null.
    """

    id: int | None
    name: str
    project: ProjectName | None
    target: TargetStatus | None
    scheduler_id: str | None
    address: str | None
    has_agent: bool
    not_recorded: list[str]
    """which metrics are missing, as the cluster's events say; none for a run, or through a public link"""
    started: float
    first: float
    last: float
    committed: float
    """everything before it is stored"""
    version: int
    """of the past; it grows when a late record changes a closed tile"""
    sequence: int
    """number of batches stored"""
    ended: float | None
    end_reason: str
    stream: str
    now: float
    identity_interval: float
    metrics_interval: float
    tile_bins: int
    band: int
    minimum_level: int
    minimum_span_level: int
    """of the layers of spans and prefixes"""
    maximum_level: int
    thresholds: Thresholds
    is_whole: bool
    """whether it is the whole cluster, not a window of it"""
    parts: list[Literal["code", "logs", "tracebacks"]]
    """sensitive parts that are shared"""
    task_count: int | None
    error_count: int | None
    """null: not counted yet"""
    worker_count: int | None = None
    """of the whole cluster alone"""
    unheard: float | None = None
    """seconds since the agent or the scheduler of a live cluster was last heard; 0: not unusually long"""
    attached_files: int = 0
    """profiles and traces that people attached to the run"""


@shared(
    "id",
    "address",
    "name",
    "host",
    "slot",
    "nthreads",
    "memory_limit",
    "started",
    "ended",
    "end_reason",
    "status",
    "position",
    "process",
    "thresholds",
)
class TimelineWorker(Schema):
    """The lifetime of a worker.

    Through a public link that hides addresses, `address`, `name` and `slot` are “worker 3”, and `host` is
    “host 1”.
    """

    id: int
    address: str
    name: str
    host: str
    slot: str
    """the same for the successive lifetimes of one worker: its name, or that of its nanny"""
    nthreads: int
    memory_limit: int
    """bytes; 0: none"""
    started: float
    ended: float | None
    end_reason: str
    status: str
    position: int
    """0, 1, … in the order in which the cluster's workers were first seen"""
    tags: dict[str, str]
    """what workers can be grouped and filtered by: each resource (“resource GPU”), and labels, release,
    machine, Python and job as an agent reports them; none through a public link"""
    process: int | None
    """workers with the same number share a process; null: no other worker is known to share it"""
    thresholds: Thresholds | None = None
    """by its own configuration; null: not known, which is where the cluster's are shown"""


@shared("id", "worker", "thread", "position")
class TimelineLane(Schema):
    """A thread of a worker."""

    id: int
    worker: int
    thread: int
    position: int


@shared("id", "name", "color", "seconds", "is_other")
class TimelinePrefix(Schema):
    """A task prefix; live blocks leave `seconds` and `is_other` out."""

    id: int
    name: str
    color: str
    """Dask's; pages replace colours that look alike or do not stand out"""
    seconds: float
    """computing time of its tasks"""
    is_other: bool
    """in the window of a run, only other clients or other runs submitted tasks of it"""


@shared("ids", "workers", "metric", "labels", "interval")
class TimelineSeriesGroup(Schema):
    """The series of a metric with the same labels, often one of each worker."""

    ids: list[int]
    workers: list[int | None]
    """of each of `ids`"""
    metric: str
    labels: dict[str, str]
    interval: float
    """usual seconds between two samples"""


@shared("workers", "lanes", "prefixes", "series")
class LeftOut(Schema):
    """How many there are beside those that are listed."""

    workers: int
    lanes: int
    prefixes: int
    series: int


@shared("version", "workers", "lanes", "prefixes", "series", "left_out")
class Lanes(Schema):
    """What a page draws. An answer has at most some 15 MB, whatever a cluster's names are."""

    version: str
    """differs once the cluster's workers, lanes, prefixes or series differ; empty for a window"""
    workers: list[TimelineWorker]
    """the newest, up to 4 MiB of them"""
    lanes: list[TimelineLane]
    """of these workers, at most 100,000"""
    prefixes: list[TimelinePrefix]
    """the 2,000 that computed longest; `/prefix-names` has the names of others"""
    series: dict[str, list[TimelineSeriesGroup]]
    """by layer; of these workers, up to 4 MiB of them"""
    left_out: LeftOut


@shared("id", "name", "color")
class PrefixName(Schema):
    id: int
    name: str
    color: str
    """Dask's"""


@shared("prefix", "name", "color", "done", "total", "erred", "states", "seconds")
class PrefixProgress(Schema):
    """Tasks of a prefix up to the time of the state. A task that is computed again counts again.

    Attempts that failed and were retried don't count. A task erred, too, where one that it needs did.
    """

    prefix: int
    """-1: no task of it has run"""
    name: str
    color: str
    done: int
    total: int | None
    erred: int | None
    """null: neither an agent nor the scheduler's metrics tell"""
    states: dict[str, int] | None
    """those that are to be computed, by state; null: unknown"""
    seconds: float
    """computing time of all attempts"""


@shared(
    "id",
    "status",
    "cpu",
    "memory",
    "managed",
    "unmanaged",
    "spilled",
    "limit",
    "gil",
    "running",
    "heard",
    "is_silent",
)
class WorkerState(Schema):
    """A worker's last heartbeat, memory in bytes. null: not known."""

    id: int
    status: str
    cpu: float | None
    """percent of one CPU"""
    memory: float | None
    managed: float | None
    unmanaged: float | None
    spilled: float | None
    limit: int
    gil: float | None
    """share of the time"""
    running: int | None
    """tasks that its threads execute"""
    heard: float | None
    """when it was last heard of: its last heartbeat with its memory"""
    is_silent: bool
    """whether heartbeats are missing, so that the values are old or unknown"""


@shared("prefixes", "done", "total", "erred", "seconds")
class OtherProgress(Schema):
    """The tasks of the prefixes that are not listed, together, as those of one that is."""

    prefixes: int
    done: int
    total: int | None
    erred: int | None
    seconds: float


@shared("workers", "threads", "tasks", "seconds")
class StateTotals(Schema):
    workers: int
    threads: int
    tasks: int
    seconds: float


@shared(
    "at",
    "version",
    "progress",
    "other_progress",
    "progress_at",
    "tasks",
    "tasks_at",
    "unrunnable",
    "workers",
    "totals",
)
class State(Schema):
    """The state of a cluster at a time."""

    at: float
    """the requested time; in a live cluster at most the newest of which everything is known"""
    version: int
    progress: list[PrefixProgress]
    """at most 1,000 prefixes, those with most tasks"""
    other_progress: OtherProgress | None
    """null: all prefixes are listed"""
    progress_at: float | None
    """when the scheduler's metrics were read that `total` and `erred` are from; null: they are of the state's
    time, as an agent told each change, or unknown"""
    tasks: dict[str, int]
    """by state; of a window without those that had finished before it, where an agent told of them"""
    tasks_at: float | None
    """when they were counted; null: the counts are unknown"""
    unrunnable: dict[str, int]
    """tasks that no worker may run, by the reason; the agent reports it"""
    workers: list[WorkerState]
    totals: StateTotals


@shared("lane", "prefix", "action", "status", "start", "stop", "nbytes", "key", "typename")
class SpanDetail(Schema):
    lane: int
    prefix: int
    action: str
    status: str
    start: float
    stop: float
    nbytes: float
    key: str
    typename: str


@shared("time", "until", "count", "worker", "kind", "message", "detail")
class EventItem(Schema):
    time: float
    until: float
    """time of the last of those that it stands for"""
    count: int
    """how many it stands for; more than one only where those that repeat are one"""
    worker: int | None
    kind: str
    message: str
    detail: dict[str, Any]
    """depends on the kind; of the first that it stands for"""
