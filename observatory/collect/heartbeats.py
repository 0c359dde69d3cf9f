"""The samples of workers' heartbeats and of the cluster's counts, under our own names (docs/architecture.md).

A heartbeat is stored once, at its time on the scheduler's clock: the worker's own time plus the least delay
that was ever seen between its measuring and the heartbeat's arrival. While identity.json fails
(workers_page.py), memory and CPU come from the workers' /metrics under the same names.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from observatory.collect.identity import Counts, Identity, WorkerIdentity
from observatory.wire.records import Series

Emit = Callable[[Series, float, float], None]
Name = tuple[str, str, str]

SAME = 0.15
"""seconds by which the workers' page can tell the same heartbeat's time differently"""
STALE = 3.0
"""seconds without a heartbeat told in full after which /metrics stands in"""
MEMORY = "observatory_worker_memory_bytes"
STATES = {
    "waiting": "waiting",
    "processing": "processing",
    "memory": "memory",
    "erred": "erred",
    "released": "released",
    "unrunnable": "no-worker",
}


@dataclass(slots=True)
class Pulse:
    """What is remembered of one worker."""

    measured: float = 0.0
    delay: float = float("inf")
    told: float = -STALE
    """when a heartbeat was told in full, monotonic"""
    memory: dict[str, float] = field(default_factory=dict)
    processor: tuple[float, float] | None = None
    """(time, seconds of CPU) at the scrape before"""


class Heartbeats:
    """Emits (series, time, value). Times are on the scheduler's clock."""

    def __init__(self, emit: Emit) -> None:
        self.emit = emit
        self.pulses: dict[str, Pulse] = {}
        self.series: dict[tuple[str, Name], Series] = {}

    def listed(self, identity: Identity) -> None:
        for worker in identity.workers.values():
            self._heartbeat(worker, told_in_full=bool(identity.scheduler_id))
        for address in self.pulses.keys() - identity.workers.keys():
            self.forget(address)

    def forget(self, address: str) -> None:
        self.pulses.pop(address, None)
        self.series = {key: series for key, series in self.series.items() if key[0] != address}

    def _heartbeat(self, worker: WorkerIdentity, told_in_full: bool) -> None:
        heartbeat = worker.heartbeat
        pulse = self.pulses.setdefault(worker.address, Pulse())
        if heartbeat is None:
            return
        if told_in_full:
            pulse.told = time.monotonic()
            if heartbeat.time == pulse.measured:
                return
            pulse.measured = heartbeat.time
            pulse.delay = min(pulse.delay, worker.last_seen - heartbeat.time)
            moment = heartbeat.time + pulse.delay
        else:
            moment = heartbeat.time
            if abs(moment - pulse.measured) < SAME:
                return
            pulse.measured = moment
        for name, value in heartbeat.values.items():
            if name[0] == MEMORY:
                pulse.memory[name[2]] = value
            self._emit(worker.address, name, moment, value)

    def scraped(self, address: str, samples: Iterable[tuple[Series, float]], moment: float) -> None:
        """A worker's /metrics: stands in for its heartbeat while that isn't told."""
        pulse = self.pulses.get(address)
        if pulse is None:
            return
        processor = pulse.processor
        for series, value in samples:
            if series.metric == "process_cpu_seconds_total":
                pulse.processor = (moment, value)
            elif time.monotonic() - pulse.told < STALE:
                continue
            elif series.metric == "dask_worker_memory_bytes":
                kind = dict(series.labels).get("type", "")
                if kind in {"managed", "unmanaged", "spilled"}:
                    pulse.memory[kind] = value
                    self._emit(address, (MEMORY, "type", kind), moment, value)
            elif series.metric == "process_open_fds":
                self._emit(address, ("observatory_worker_file_descriptors", "", ""), moment, value)
        if processor and pulse.processor and time.monotonic() - pulse.told >= STALE:
            seconds, used = (now - before for now, before in zip(pulse.processor, processor, strict=True))
            if seconds > 0 and used >= 0:
                self._emit(address, ("observatory_worker_cpu_percent", "", ""), moment, 100 * used / seconds)

    def counted(self, counts: Counts, moment: float) -> None:
        for name, state in STATES.items():
            self._emit("", ("observatory_cluster_tasks", "state", state), moment, counts[name])
        for name, state in (("workers", "total"), ("idle", "idle"), ("saturated", "saturated")):
            self._emit("", ("observatory_cluster_workers", "state", state), moment, counts[name])
        self._emit("", ("observatory_cluster_threads", "", ""), moment, counts["cores"])
        self._emit("", ("observatory_cluster_clients", "", ""), moment, counts["clients"])

    def summed(self, limit: int, moment: float) -> None:
        """The cluster's memory: the sums of what its workers told last; `limit` is that of all, in bytes."""
        total: Counter[str] = Counter()
        for pulse in self.pulses.values():
            total.update(pulse.memory)
        for kind, value in total.items():
            self._emit("", ("observatory_cluster_memory_bytes", "type", kind), moment, value)
        self._emit("", ("observatory_cluster_memory_limit_bytes", "", ""), moment, limit)

    def _emit(self, worker: str, name: Name, moment: float, value: float) -> None:
        series = self.series.get((worker, name))
        if series is None:
            labels = ((name[1], name[2]),) if name[1] else ()
            series = self.series[worker, name] = Series(name[0], labels, worker)
        self.emit(series, moment, float(value))
