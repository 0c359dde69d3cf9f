"""Processes and GPUs of workers: which workers share one, and sums that count each once.

With `LocalCluster(processes=False)` all workers are threads of one process. Each worker then reports the
memory and the CPU of that process as its own. A worker's detail names its process where that is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from observatory.wire.metrics import METRICS
from observatory.wire.workers.gpus import DEVICE

PROCESS = "process"
"""the key in a worker's detail: workers of a cluster with the same text share a process"""
OF_SCHEDULER = "scheduler"
"""that text, of workers that run in the scheduler's process"""
OWN_MEMORY = ("managed", "spilled")
"""types of memory that belong to a worker, also where it shares its process"""

CPU = "observatory_worker_cpu_percent"
MONITORED = {
    CPU,
    "observatory_worker_gil_contention_ratio",
    "observatory_worker_host_network_bytes_per_second",
    "observatory_worker_host_disk_bytes_per_second",
}
"""what a worker measures between two samples of its SystemMonitor"""


def has_measured(cpu: float | None, is_first: bool) -> bool:
    """Whether a heartbeat has values of MONITORED. `is_first`: it is the first that was seen of its worker.

    With that a worker registers, and its monitor may have one sample, of when it was made: psutil says 0 % at
    first, and the others are of no time.
    """
    return not is_first or cpu != 0


def process_of_address(address: str) -> str:
    """The process of a worker with this address: its host and pid; "" if the address doesn't tell.

    Source: distributed.comm.inproc, whose addresses are `inproc://host/pid/number`.
    """
    scheme, _, place = address.partition("://")
    return place.rpartition("/")[0] if scheme == "inproc" else ""


def device_of(metric: str, labels: Mapping[str, str]) -> str:
    """The GPU that a series is of, which several workers can report; "" if it is of none."""
    declared = METRICS.get(metric)
    return labels.get(DEVICE, "") if declared is not None and declared.of_device else ""


def is_of_process(metric: str, labels: Mapping[str, str]) -> bool:
    """Whether workers that share a process report the same value: a sum takes it from one of them."""
    declared = METRICS.get(metric)
    return declared is not None and declared.of_process and labels.get("type") not in OWN_MEMORY


class WorkerMemory:
    """The last known memory of the workers of a cluster, in bytes by type."""

    def __init__(self) -> None:
        self._memory: dict[str, dict[str, float]] = {}
        """By worker."""
        self._process: dict[str, str] = {}
        self._workers: defaultdict[str, set[str]] = defaultdict(set)
        """The workers of each process."""

    def update(self, worker: str, process: str, memory: Mapping[str, float]) -> Mapping[str, float]:
        """Adds what a worker reported. Returns its memory, with the unmanaged memory of its whole process.

        `process`: "" if no other worker shares it.
        """
        process = process or worker
        if self._process.get(worker) != process:
            known = self._memory.get(worker, {})
            self.forget(worker)
            self._memory[worker], self._process[worker] = known, process
            self._workers[process].add(worker)
        own = self._memory[worker]
        own.update(memory)
        together = self._workers[process]
        if len(together) == 1 or "unmanaged" not in own:
            return own
        return {**own, "unmanaged": _of_process(self._memory[each] for each in together)["unmanaged"]}

    def forget(self, worker: str) -> None:
        """Forgets a worker that left."""
        process = self._process.pop(worker, None)
        self._memory.pop(worker, None)
        if process is not None:
            self._workers[process].discard(worker)
            if not self._workers[process]:
                del self._workers[process]

    def total(self) -> dict[str, float]:
        """The bytes of all workers together: a process counts once."""
        total: defaultdict[str, float] = defaultdict(float)
        for together in self._workers.values():
            for type, nbytes in _of_process(self._memory[each] for each in together).items():
                total[type] += nbytes
        return dict(total)


def _of_process(workers: Iterable[Mapping[str, float]]) -> Mapping[str, float]:
    """The memory of a process. Its workers measured it at different times: the most counts."""
    first, *others = workers
    if not others:
        return first
    found = dict(first)
    for memory in others:
        for type, nbytes in memory.items():
            known = found.get(type, 0.0)
            found[type] = known + nbytes if type in OWN_MEMORY else max(known, nbytes)
    if "process" in found:
        found["unmanaged"] = max(0.0, found["process"] - found.get("managed", 0.0))
    return found
