"""The two halves: the first is judged, the detectors are mended, then the second is judged once."""

from __future__ import annotations

from hashlib import sha256

from benchmarks.unprepared import futures, graphs, healthy  # noqa: F401 (registers them)
from benchmarks.unprepared.workload import WORKLOADS, Workload


def half(number: int) -> list[Workload]:
    """Of half 1 or 2: the digests of their names say which, so that nobody has chosen."""
    names = sorted(WORKLOADS, key=lambda name: sha256(name.encode()).hexdigest())
    middle = (len(names) + 1) // 2
    return [WORKLOADS[name] for name in (names[:middle] if number == 1 else names[middle:])]
