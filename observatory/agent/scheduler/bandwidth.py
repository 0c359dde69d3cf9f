"""Samples the bandwidth of transfers between workers by the type of their data.

Dask's scheduler averages the same (`Scheduler.bandwidth_types`), but adds up where a heartbeat tells of
several transfers, so the heartbeats are read here. Of a worker's heartbeats between two samples only the last
is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

METRIC = "observatory_cluster_transfer_bytes_per_second"
MAXIMUM_TYPES = 50
OTHER = "other types"
LONGEST_TYPE = 200


class Bandwidth:
    """Makes samples of METRIC."""

    def __init__(self, add: Callable[..., None]) -> None:
        """`add(time, metric, value, labels)` records a sample."""
        self._add = add
        self._found: dict[str, list[float]] = {}
        """The sum of the bandwidths and the number of transfers since the last sample, by type."""
        self._types: set[str] = set()

    def add_heartbeat(self, metrics: Mapping[str, Any]) -> None:
        """Adds what a worker told of its transfers of over 1 MB since the heartbeat before."""
        bandwidth = metrics.get("bandwidth") or {}
        for name, (total, count) in (bandwidth.get("types") or {}).items():
            found = self._found.setdefault(self._label(str(name)[:LONGEST_TYPE]), [0.0, 0.0])
            found[0] += total
            found[1] += count

    def _label(self, name: str) -> str:
        """The type, or OTHER for those beyond MAXIMUM_TYPES: each is a series."""
        if len(self._types) < MAXIMUM_TYPES:
            self._types.add(name)
        return name if name in self._types else OTHER

    def sample(self, now: float) -> None:
        """Adds a sample of each type of which something moved: the mean bandwidth of a transfer."""
        for name, (total, count) in self._found.items():
            if count:
                self._add(now, METRIC, total / count, {"type": name})
        self._found.clear()
