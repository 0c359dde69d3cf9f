"""Divides a set of workloads into two halves: one is judged first, the other one once at the end."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from benchmarks.unprepared.workload import Workload


def half_of(workloads: Iterable[Workload], number: int) -> list[Workload]:
    """Half 1 or 2, planted and healthy ones apart: the digests of their names say which."""
    known, chosen = list(workloads), []
    for has_cause in (True, False):
        ones = [one for one in known if bool(one.causes) is has_cause]
        ones.sort(key=lambda one: sha256(one.name.encode()).hexdigest())
        middle = (len(ones) + 1) // 2
        chosen += ones[:middle] if number == 1 else ones[middle:]
    return chosen
