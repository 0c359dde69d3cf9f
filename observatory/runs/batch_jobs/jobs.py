"""The jobs of batch systems in a window: what each asked for on its nodes, and what it used there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import psycopg

from observatory.store.queries.windows.workers.batch_jobs import (
    PlaceUse,
    WorkerInJob,
    mean_use,
    use_by_place,
    workers_in_jobs,
)
from observatory.store.queries.windows.workers.peak_memory import BIN, MEMORY
from observatory.store.queries.windows.workers.worker_groups import CPU
from observatory.store.workers.thresholds import thresholds_of
from observatory.wire.workers.batch_jobs import BatchJob, read_batch_job
from observatory.wire.workers.processes import PROCESS

Identity = tuple[str, str, str, int]
"""batch system, its cluster, the job's id and how often it was requeued"""
PERCENT = 100.0
SLOWEST_START = timedelta(minutes=10)
"""from the start of a job to its first worker"""


@dataclass
class Place:
    """A job on one of its nodes. Bytes, cores and seconds; None: no samples tell."""

    asked: BatchJob
    """as its workers there told it"""
    host: str
    workers: list[WorkerInJob] = field(default_factory=list)
    begun: float = 0.0
    """when it began to hold what it asked for"""
    came: float = 0.0
    """when the first of its workers came"""
    started: float = 0.0
    """`begun` clipped to the window, as the next"""
    ended: float = 0.0
    peak_memory: float | None = None
    """of the processes of its workers, at a time"""
    mean_memory: float | None = None
    most_of_one: float | None = None
    """memory of the process of one worker"""
    managed_of_one: float | None = None
    spilled: float = 0.0
    """most that was on disk at a time"""
    mean_cores: float | None = None
    """CPU seconds by seconds"""
    most_cores: float | None = None
    """in the mean of five seconds"""
    known_seconds: float = 0.0
    """of which there are samples of memory"""

    @property
    def seconds(self) -> float:
        return max(self.ended - self.started, 0.0)

    @property
    def slots(self) -> int:
        """Its workers; one that was restarted is one."""
        return len({worker.slot for worker in self.workers})

    @property
    def nannies(self) -> int:
        return len({nanny for worker in self.workers if (nanny := worker.detail.get("nanny"))})

    @property
    def limits(self) -> int:
        """The memory limits of its workers together; 0 if one has none."""
        by_slot = {worker.slot: worker.memory_limit for worker in self.workers}
        return sum(by_slot.values()) if all(by_slot.values()) else 0

    def threshold(self, *names: str) -> float | None:
        """The least share of its limit at which a worker does something; None where no worker does."""
        known = [thresholds_of(worker.detail) or {} for worker in self.workers]
        return min((share for each in known for name in names if (share := each.get(name))), default=None)


@dataclass
class Job:
    identity: Identity
    places: list[Place]

    @property
    def begun(self) -> float:
        return min(place.begun for place in self.places)

    def begins_in(self, start: datetime, stop: datetime) -> bool:
        """Whether its first worker came in [start, stop), and didn't take the place of an earlier one."""
        came, told = min(place.came for place in self.places), self.told.started
        is_new = told is None or told >= (start - SLOWEST_START).timestamp()
        return start.timestamp() <= came < stop.timestamp() and is_new

    @property
    def told(self) -> BatchJob:
        """By the worker that knows most of it: one that asked the batch system, if there is one."""
        jobs = [place.asked for place in self.places]
        return max(jobs, key=lambda job: (job.waited is not None, len(job.detail())))


def jobs_in_window(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime
) -> list[Job]:
    """Return the jobs that had workers in [start, stop), in the order in which they began."""
    places = _places(connection, cluster, start, stop)
    numbered = [(worker.id, number) for number, place in enumerate(places) for worker in place.workers]
    if numbered:
        workers, numbers = zip(*numbered, strict=True)
        for use in use_by_place(connection, cluster, start, stop, workers, numbers):
            _take(places[use.place], use)
    return _jobs(places)


def jobs_with_means(
    connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime
) -> list[Job]:
    """Return the same with means alone, which cost little in windows of any length."""
    places = _places(connection, cluster, start, stop)
    workers = [worker.id for place in places for worker in place.workers]
    if workers:
        means = mean_use(connection, cluster, start, stop, workers)
        for place in places:
            place.mean_memory = _sum_of_means(place, MEMORY, means, start, stop)
            cores = _sum_of_means(place, CPU, means, start, stop)
            place.mean_cores = None if cores is None else cores / PERCENT
    return _jobs(places)


def _jobs(places: Sequence[Place]) -> list[Job]:
    by_job: defaultdict[Identity, list[Place]] = defaultdict(list)
    for place in places:
        by_job[_identity(place.asked)].append(place)
    jobs = [Job(identity, of_job) for identity, of_job in by_job.items()]
    return sorted(jobs, key=lambda job: (job.begun, job.identity))


def _places(connection: psycopg.Connection, cluster: int, start: datetime, stop: datetime) -> list[Place]:
    found: dict[tuple[Identity, str], Place] = {}
    for worker in workers_in_jobs(connection, cluster, start, stop):
        job = read_batch_job(worker.detail)
        if job is None:
            continue
        node = job.node or worker.host
        place = found.setdefault((_identity(job), node), Place(job, node))
        place.workers.append(worker)
        if len(job.detail()) > len(place.asked.detail()):
            place.asked = job
    for place in found.values():
        _set_times(place, start, stop)
    return list(found.values())


def _identity(job: BatchJob) -> Identity:
    return job.system, job.site, job.id, job.restarts


def _set_times(place: Place, start: datetime, stop: datetime) -> None:
    """A job holds its cores from its own start, which is before that of its first worker."""
    first = min(worker.started for worker in place.workers).timestamp()
    last = max((worker.ended or stop) for worker in place.workers).timestamp()
    told = place.asked.started
    place.came = first
    place.begun = told if told is not None and told < first else first
    place.started = min(max(place.begun, start.timestamp()), stop.timestamp())
    place.ended = max(min(last, stop.timestamp()), place.started)


def _sum_of_means(
    place: Place, metric: str, means: Mapping[tuple[int, str], float], start: datetime, stop: datetime
) -> float | None:
    """What the workers of a place used together in the mean of its time; those of a process count once."""
    by_process: defaultdict[str, float] = defaultdict(float)
    for worker in place.workers:
        mean = means.get((worker.id, metric))
        lived = (min(worker.ended or stop, stop) - max(worker.started, start)).total_seconds()
        process = str(worker.detail.get(PROCESS) or worker.id)
        if mean is not None and lived > 0:
            by_process[process] = max(by_process[process], mean * lived)
    return sum(by_process.values()) / place.seconds if by_process and place.seconds else None


def _take(place: Place, use: PlaceUse) -> None:
    if use.metric != MEMORY:
        place.mean_cores, place.most_cores = use.mean / PERCENT, use.most_mean / PERCENT
    elif use.type == "process":
        place.peak_memory, place.mean_memory, place.most_of_one = use.most, use.mean, use.of_one
        place.known_seconds = min(use.bins * BIN.total_seconds(), place.seconds)
    elif use.type == "managed":
        place.managed_of_one = use.of_one
    else:
        place.spilled = use.most
