"""The workers that a window had: one that was restarted is one, which was absent meanwhile."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from observatory.why.records import Records, Worker
from observatory.why.what_if.simulation.workers import Absence, AbsenceKind, WorkerSpec


def recorded_workers(records: Records) -> list[WorkerSpec]:
    """Return the workers of a window, each since its first start."""
    lives = [sorted(some, key=lambda one: one.start) for some in _by_slot(records).values()]
    return with_one_that_stays([_spec(records, some) for some in lives])


def numbers(records: Records) -> dict[int, int]:
    """Return the place of each lifetime's worker among the recorded workers, by id."""
    slots = enumerate(_by_slot(records).values())
    return {one.id: number for number, lives in slots for one in lives}


def _by_slot(records: Records) -> dict[str, list[Worker]]:
    found: dict[str, list[Worker]] = {}
    for worker in records.workers:
        if worker.threads:
            found.setdefault(worker.slot, []).append(worker)
    return found


def with_one_that_stays(specs: Sequence[WorkerSpec]) -> list[WorkerSpec]:
    """Workers that do not all leave for good: else the tasks would never end."""
    if any(all(one.stop < math.inf for one in spec.absences) for spec in specs):
        return list(specs)
    return [
        replace(spec, absences=tuple(one for one in spec.absences if one.stop < math.inf)) for spec in specs
    ]


def _spec(records: Records, lives: Sequence[Worker]) -> WorkerSpec:
    joins = (lives[0].start - records.start) / 1e6
    absences = sorted([*_ends(records, lives), *_pauses(records, lives)], key=lambda one: one.start)
    threads = max(worker.threads for worker in lives)
    return WorkerSpec(threads, joins, tuple(absences), lives[-1].resources)


def _ends(records: Records, lives: Sequence[Worker]) -> Iterator[Absence]:
    for before, after in pairwise(lives):
        yield _absence(records, before, (max(before.stop, after.start) - records.start) / 1e6)
    if lives[-1].has_ended:
        yield _absence(records, lives[-1], math.inf)


def _absence(records: Records, worker: Worker, stop: float) -> Absence:
    kind = AbsenceKind.DIED if worker.has_died else AbsenceKind.LEFT
    return Absence((worker.stop - records.start) / 1e6, stop, kind, worker.id)


def _pauses(records: Records, lives: Sequence[Worker]) -> Iterator[Absence]:
    ids = {worker.id: worker for worker in lives}
    pauses = records.pauses
    for id, start, stop in zip(
        pauses.worker.tolist(), pauses.times.start.tolist(), pauses.times.stop.tolist(), strict=True
    ):
        if id in ids:
            first = max(start, records.start) - records.start
            last = min(stop, ids[id].stop) - records.start
            if first < last:
                yield Absence(first / 1e6, last / 1e6, AbsenceKind.PAUSED, id)
