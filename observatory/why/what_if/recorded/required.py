"""The resources of workers that computations require, as `dask worker --resources` has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from observatory.store.queries.windows.tasks.required_resources import RequiredResource
from observatory.why.intervals import Integers
from observatory.why.what_if.simulation.workers import Amounts, WorkerSpec, supplies


def required_by(tasks: Integers, known: Sequence[RequiredResource]) -> dict[int, Amounts]:
    """Return what the computations of `tasks` require, by their places among them."""
    by_task: dict[int, Amounts] = {}
    for one in known:
        by_task[one.task] = {**by_task.get(one.task, {}), one.name: one.amount}
    places = np.flatnonzero(np.isin(tasks, list(by_task)))
    return {place: by_task[int(tasks[place])] for place in places.tolist()}


def supplied(required: Mapping[int, Amounts], workers: Sequence[WorkerSpec]) -> dict[int, Amounts]:
    """Without what none of the workers has: a simulation with it would have no end."""
    return {
        place: amounts
        for place, amounts in required.items()
        if any(supplies(worker.resources, amounts) for worker in workers)
    }
