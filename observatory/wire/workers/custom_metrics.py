"""Numbers that people add to the heartbeats of their workers, with `Worker(metrics={"name": function})`.

Source: distributed.worker.Worker.get_metrics. Nested objects become names with dots, `queue_depth.high`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from numbers import Real
from typing import Any

from observatory.wire.records import clean_text
from observatory.wire.workers.gpus import OF_MONITOR

METRIC, LABEL = "observatory_worker_custom", "name"
MAXIMUM = 50
"""Names of a worker that are recorded."""
LONGEST_NAME = 100
"""Characters."""
DEEPEST = 3
"""Objects in one another."""
MAXIMUM_READ = 1_000
"""Values of a heartbeat that are looked at."""
MAXIMUM_REPORTED = 5
"""Messages of a cluster."""
OF_DASK = frozenset(
    {
        *("task_counts", "bandwidth", "digests_total_since_heartbeat", "managed_bytes", "spilled_bytes"),
        *("transfer", "event_loop_interval", "cpu", "memory", "time", "host_net_io", "host_disk_io"),
        *("num_fds", "gil_contention", *OF_MONITOR),
        # of earlier versions
        *("in_memory", "executing", "ready", "in_flight", "read_bytes", "write_bytes"),
        *("read_bytes_disk", "write_bytes_disk"),
    }
)
OF_GPU = ("gpu", "rmm", "cudf")
"""objects that have metrics of their own"""
OF_OBSERVATORY = "observatory_"


class CustomMetrics:
    """Reads the heartbeats of a cluster's workers, which aren't trusted."""

    def __init__(self, report: Callable[[str], None]) -> None:
        """`report` is called with what isn't recorded."""
        self._report = report
        self._names: defaultdict[str, set[str]] = defaultdict(set)
        """The recorded names of each worker."""
        self._reported: set[str] = set()

    def read(self, worker: str, metrics: Mapping[Any, Any]) -> dict[str, float]:
        """The numbers of a worker's heartbeat, by name."""
        values: dict[str, float] = {}
        for name, value in _values(metrics):
            number = _number(value)
            if number is None:
                self._report_once(f"“{name}” of the workers' own metrics is no finite number")
            elif self._admits(worker, name):
                values.setdefault(name, number)
            else:
                self._report_once(f"workers have more than {MAXIMUM} metrics of their own")
        return values

    def forget(self, worker: str) -> None:
        """Forgets a worker that left."""
        self._names.pop(worker, None)

    def _admits(self, worker: str, name: str) -> bool:
        names = self._names[worker]
        if name not in names and len(names) < MAXIMUM:
            names.add(name)
        return name in names

    def _report_once(self, message: str) -> None:
        if message not in self._reported and len(self._reported) < MAXIMUM_REPORTED:
            self._reported.add(message)
            self._report(message)


def _values(metrics: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """(name, value) of what isn't Dask's, RAPIDS' or ours; a value of None is missing."""
    own = {
        name: value
        for name, value in metrics.items()
        if name not in OF_DASK
        and not str(name).startswith(OF_OBSERVATORY)
        and not (name in OF_GPU and isinstance(value, Mapping))
    }
    return islice(_nested("", own, DEEPEST), MAXIMUM_READ) if own else iter(())


def _nested(before: str, values: Mapping[Any, Any], depth: int) -> Iterator[tuple[str, Any]]:
    for key, value in islice(values.items(), MAXIMUM_READ):
        name = f"{before}{str(key)[:LONGEST_NAME]}"
        if isinstance(value, Mapping) and depth:
            yield from _nested(f"{name}.", value, depth - 1)
        elif value is not None:
            yield clean_text(name, LONGEST_NAME), value


def _number(value: Any) -> float | None:
    """A finite number, also NumPy's; True is 1."""
    if not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except (OverflowError, ValueError, TypeError):
        return None
    return number if math.isfinite(number) else None
