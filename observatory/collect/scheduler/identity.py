"""Parses /json/identity.json and /json/counts.json into typed values.

Neither page is trusted: fields of the wrong type, not finite or out of range are skipped, and `Problems` logs
each kind of problem once.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from observatory.wire.records import WorkerSeen, clean_text, is_time
from observatory.wire.workers import gpus
from observatory.wire.workers.processes import PROCESS, process_of_address

logger = logging.getLogger(__name__)

MAXIMUM_WORKERS = 20_000
MAXIMUM_NAME = 300
MAXIMUM_INTEGER = 2**62
WORKER_STATES = 20


class IdentityError(ValueError):
    """A page that is not a scheduler's; the message says what it is instead."""


class Problems:
    """Logs each kind of problem of one target once."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.logged: set[str] = set()

    def skip(self, field: str) -> None:
        """Logs that a field was skipped."""
        if field not in self.logged and len(self.logged) < 100:
            self.logged.add(field)
            logger.warning("%s: skipped %s, which is malformed", self.target, field)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A worker's last heartbeat."""

    time: float
    """When the worker measured, on its own clock."""
    values: Mapping[tuple[str, str, str], float]
    """(metric, label name, label value) → value; "" and "" without a label."""
    metrics: Mapping[Any, Any] = field(default_factory=dict)
    """All that the worker reported, as it is."""


@dataclass(frozen=True, slots=True)
class WorkerIdentity:
    """A worker as the scheduler describes it; unknown values are "" or 0."""

    address: str
    name: str
    host: str
    nthreads: int
    memory_limit: int
    status: str
    nanny: str
    directory: str
    """Its scratch folder, new for each process: distinguishes two lifetimes at one address."""
    port: int
    """Its HTTP port; 0 without one."""
    last_seen: float
    """When its last heartbeat arrived, on the scheduler's clock."""
    resources: Mapping[str, float] = field(default_factory=dict)
    heartbeat: Heartbeat | None = None
    process: str = ""
    """Workers with the same text share a process; "" when it is not known, or the worker's own."""

    def seen(self, time: float) -> WorkerSeen:
        """The record of this worker."""
        return WorkerSeen(
            self.address,
            self.name,
            self.host,
            self.nthreads,
            self.memory_limit,
            time,
            self.status,
            self.resources,
            {
                **({"nanny": self.nanny} if self.nanny else {}),
                **({"dashboard": self.port} if self.port else {}),
                **({PROCESS: self.process} if self.process else {}),
            },
        )


@dataclass(frozen=True, slots=True)
class Identity:
    """A scheduler's identity."""

    scheduler_id: str
    """"" when the scheduler did not say."""
    address: str
    started: float
    """When the scheduler started, on its clock."""
    threads: int
    workers: Mapping[str, WorkerIdentity]


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of /json/counts.json; a missing one is 0."""

    values: Mapping[str, int]

    def __getitem__(self, name: str) -> int:
        return self.values.get(name, 0)


def read_identity(page: Any, problems: Problems) -> Identity:
    """Reads decoded JSON of identity.json. Raises IdentityError when it is not a scheduler's."""
    if not isinstance(page, dict):
        raise IdentityError("its answer is JSON, but not that of a Dask scheduler")
    kind = page.get("type")
    if kind in ("Worker", "Nanny"):
        raise IdentityError(f"this is the address of a Dask {str(kind).lower()}: use the scheduler's address")
    scheduler_id, workers = page.get("id"), page.get("workers")
    if not isinstance(scheduler_id, str) or not scheduler_id or not isinstance(workers, dict):
        raise IdentityError("its answer is JSON, but not that of a Dask scheduler")
    started = number(page, "started")
    if started is None or not is_time(started):
        raise IdentityError("its identity has no start time")
    if len(workers) > MAXIMUM_WORKERS:
        problems.skip(f"a list of more than {MAXIMUM_WORKERS} workers")
    read = [read_worker(address, workers[address], problems) for address in list(workers)[:MAXIMUM_WORKERS]]
    return Identity(
        scheduler_id=clean_text(scheduler_id, 200),
        address=text(page, "address", MAXIMUM_NAME),
        started=started,
        threads=integer(page, "total_threads"),
        workers={worker.address: worker for worker in read if worker is not None},
    )


def read_worker(address: Any, page: Any, problems: Problems) -> WorkerIdentity | None:
    """One worker of identity.json; None when it is malformed."""
    if not isinstance(address, str) or not 0 < len(address) <= MAXIMUM_NAME or not address.isprintable():
        problems.skip("a worker's address")
        return None
    if not isinstance(page, dict):
        problems.skip("a worker's identity")
        return None
    last_seen = number(page, "last_seen")
    if last_seen is None or not is_time(last_seen):
        problems.skip("a worker's last_seen")
        return None
    services = page.get("services")
    resources = page.get("resources")
    metrics = page.get("metrics")
    return WorkerIdentity(
        address=address,
        name=worker_name(page.get("name")),
        host=text(page, "host", MAXIMUM_NAME),
        nthreads=min(integer(page, "nthreads"), 100_000),
        memory_limit=integer(page, "memory_limit"),
        status=text(page, "status", 50) or "running",
        nanny=text(page, "nanny", MAXIMUM_NAME),
        directory=text(page, "local_directory", 1000),
        port=integer(services, "dashboard") if isinstance(services, dict) else 0,
        last_seen=last_seen,
        resources=read_resources(resources, problems) if isinstance(resources, dict) else {},
        heartbeat=read_heartbeat(metrics, page, problems) if isinstance(metrics, dict) else None,
        process=process_of_address(address),
    )


def worker_name(value: Any) -> str:
    """A worker's name, which is a text or a number in Dask."""
    return clean_text(str(value), MAXIMUM_NAME) if isinstance(value, str | int) and value != "" else ""


def read_resources(page: dict[Any, Any], problems: Problems) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in list(page)[:100]:
        value = number(page, name)
        if isinstance(name, str) and value is not None:
            found[clean_text(name, MAXIMUM_NAME)] = value
        else:
            problems.skip("a worker's resource")
    return found


def read_heartbeat(metrics: dict[str, Any], told: dict[str, Any], problems: Problems) -> Heartbeat | None:
    """The values of a heartbeat as `observatory_worker_` metrics; None without a valid time.

    `told`: what the worker reported when it started.
    """
    time = number(metrics, "time")
    if time is None or not is_time(time):
        return None
    values = {
        (f"observatory_worker_{metric}", label, kind): value
        for metric, label, kind, value in (*heartbeat_values(metrics, problems), *gpu_values(metrics, told))
        if value is not None
    }
    return Heartbeat(time, values, metrics)


def heartbeat_values(
    metrics: dict[str, Any], problems: Problems
) -> Iterator[tuple[str, str, str, float | None]]:
    """(metric without prefix, label name, label value, value or None when missing)."""
    for kind, size in memory_values(metrics).items():
        yield "memory_bytes", "type", kind, size
    for name, metric in (
        ("cpu", "cpu_percent"),
        ("gil_contention", "gil_contention_ratio"),
        ("event_loop_interval", "event_loop_interval_seconds"),
        ("num_fds", "file_descriptors"),
    ):
        if name in metrics:
            value = number(metrics, name)
            if value is None:
                problems.skip(f"a heartbeat's {name}")
            yield metric, "", "", value
    for name, metric in (
        ("host_net_io", "host_network_bytes_per_second"),
        ("host_disk_io", "host_disk_bytes_per_second"),
    ):
        rates = metrics.get(name)
        if isinstance(rates, dict):
            for direction in ("read", "write"):
                yield metric, "direction", direction, number(rates, f"{direction}_bps")
    transfer = metrics.get("transfer")
    if isinstance(transfer, dict):
        for direction in ("incoming", "outgoing"):
            yield "transfer_bytes", "direction", direction, number(transfer, f"{direction}_bytes")
    counts = metrics.get("task_counts")
    if isinstance(counts, dict):
        for state in list(counts)[:WORKER_STATES]:
            if isinstance(state, str) and len(state) <= 50 and state.isprintable():
                yield "tasks", "state", state, number(counts, state)


def gpu_values(metrics: dict[str, Any], told: dict[str, Any]) -> Iterator[tuple[str, str, str, float | None]]:
    """What a worker with a GPU adds, as `heartbeat_values`."""
    for metric, label, kind, value in gpus.heartbeat_values(metrics, told):
        yield metric, label, kind, number({metric: value}, metric)


def memory_values(metrics: dict[str, Any]) -> dict[str, float]:
    """Bytes by type as in Dask: process = managed + unmanaged; spilled is on disk."""
    process = number(metrics, "memory")
    if process is None:
        return {}
    found = metrics.get("spilled_bytes")
    spilled: dict[str, Any] = found if isinstance(found, dict) else {}
    in_memory = (number(metrics, "managed_bytes") or 0.0) - (number(spilled, "memory") or 0.0)
    managed = min(process, max(0.0, in_memory))
    return {
        "process": process,
        "managed": managed,
        "unmanaged": process - managed,
        "spilled": number(spilled, "disk") or 0.0,
    }


def read_counts(page: Any) -> Counts:
    """Reads decoded JSON of counts.json. Raises IdentityError when it is not a scheduler's."""
    if not isinstance(page, dict) or not {"workers", "tasks", "erred"} <= page.keys():
        raise IdentityError("its answer is JSON, but not that of a Dask scheduler")
    names = [name for name in list(page)[:100] if isinstance(name, str)]
    return Counts({name: integer(page, name) for name in names})


def number(page: Mapping[Any, Any], name: Any) -> float | None:
    """page[name] if it is a finite number, else None."""
    value = page.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > 2**1000:
        return None
    return float(value) if math.isfinite(value) else None


def integer(page: Mapping[Any, Any], name: Any) -> int:
    """page[name] as an integer from 0 to 2⁶², else 0."""
    value = number(page, name)
    return int(value) if value is not None and 0 <= value <= MAXIMUM_INTEGER else 0


def text(page: Mapping[Any, Any], name: str, limit: int) -> str:
    """page[name] as a text of at most `limit` characters, else ""."""
    value = page.get(name)
    return clean_text(value, limit) if isinstance(value, str) else ""
