"""Schemas of a point in time beside the state; schemas.py says how they are held against real documents."""

from __future__ import annotations

from ninja import Schema

from observatory.replay.answers.shared_fields import shared


@shared(
    "id",
    "event_loop",
    "descriptors",
    "unmanaged_recent",
    "network_read",
    "network_write",
    "disk_read",
    "disk_write",
    "incoming",
    "outgoing",
    "processing",
    "occupancy",
    "gpu_memory",
    "gpu_limit",
    "gpu_utilization",
    "gpu_power",
    "gpu_temperature",
    "rmm_memory",
    "custom",
)
class WorkerFigures(Schema):
    """What a worker reported last beside its state; null: not known."""

    id: int
    event_loop: float | None
    """seconds between two ticks"""
    descriptors: float | None
    unmanaged_recent: float | None
    """bytes; the agent reports it"""
    network_read: float | None
    network_write: float | None
    disk_read: float | None
    disk_write: float | None
    """bytes a second, of its machine"""
    incoming: float | None
    outgoing: float | None
    """bytes of results on their way from and to other workers"""
    processing: float | None
    """tasks that the scheduler assigned to it; the agent reports it"""
    occupancy: float | None
    """seconds of work that the scheduler expects; the agent reports it"""
    gpu_memory: float | None
    gpu_limit: float | None
    """bytes of all of its GPUs"""
    gpu_utilization: float | None
    """percent, the mean of its GPUs"""
    gpu_power: float | None
    """watts of all of its GPUs"""
    gpu_temperature: float | None
    """degrees Celsius, of the hottest of its GPUs"""
    rmm_memory: float | None
    """bytes"""
    custom: dict[str, float]
    """numbers that the cluster's people add to heartbeats, by name"""


@shared("lane", "prefix", "action", "start", "stop", "key")
class RunningSpan(Schema):
    """What a thread did at a time."""

    lane: int
    prefix: int
    action: str
    start: float
    stop: float
    key: str


@shared("count", "nbytes", "unsized")
class ResultTotals(Schema):
    """Results in memory together."""

    count: int
    nbytes: int
    """of those whose size is known"""
    unsized: int
    """how many of them have no known size, because their computation wasn't recorded"""


@shared("worker", "nbytes")
class SpilledResult(Schema):
    worker: int
    """id of the worker on whose disk it is"""
    nbytes: int
    """its size there"""


@shared("key", "prefix", "worker", "nbytes", "since", "spilled")
class ResultInMemory(Schema):
    key: str
    prefix: int
    """id"""
    worker: int | None
    """id of the worker that made it; null: it is gone, and another one has a copy, or unknown"""
    nbytes: int | None
    since: float
    """when it entered memory"""
    spilled: list[SpilledResult]
    """where it was on disk instead, as the agents of the workers saw once a second"""


@shared("at", "total", "unnamed", "found", "results", "spilling_unknown")
class ResultsInMemory(Schema):
    """The results that were in memory at a point in time, as the agent reported it."""

    at: float
    total: ResultTotals
    unnamed: int
    """smaller ones beside them, of which only the number is kept"""
    found: ResultTotals
    """of those that were asked for"""
    results: list[ResultInMemory]
    """the largest five hundred of these, the largest first"""
    spilling_unknown: list[int]
    """ids of workers whose spilled results are unknown: without the agent, or with a store of their own"""
