"""Why tasks can't run: what they require and no worker has."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

MOST_TASKS = 1000
"""Tasks that are looked at, of those that no worker may run."""
MOST_REASONS = 20
"""Kept for the life of the agent; others count together."""
LONGEST = 100
OTHER = "for other reasons"


class UnrunnableTasks:
    """Counts the tasks in the state no-worker by the reason."""

    def __init__(self, scheduler: Any) -> None:
        self.scheduler = scheduler
        self._counts: dict[str, int] = {}
        """Tasks by reason; 0 for a reason that no task has any more."""

    def count(self) -> dict[str, int]:
        """The number of tasks by reason, of up to MOST_TASKS."""
        unrunnable = self.scheduler.unrunnable
        found = Counter(self._reason(task) for task in islice(list(unrunnable), MOST_TASKS))
        self._counts = dict.fromkeys(self._counts, 0)
        for reason, tasks in found.items():
            is_known = reason in self._counts or len(self._counts) < MOST_REASONS
            name = reason if is_known else OTHER
            self._counts[name] = self._counts.get(name, 0) + tasks
        return self._counts

    def _reason(self, task: Any) -> str:
        scheduler = self.scheduler
        if not scheduler.workers:
            return "there is no worker"
        for name, needed in sorted((task.resource_restrictions or {}).items(), key=str):
            most = max(scheduler.resources.get(name, {}).values(), default=0)
            if not most:
                return f"no worker has the resource {name}"[:LONGEST]
            if most < needed:
                return f"no worker has {needed:g} of the resource {name}"[:LONGEST]
        if task.worker_restrictions or task.host_restrictions:
            return "the workers or hosts that they name are not there"
        if task.resource_restrictions:
            return "no worker has all resources that they require"
        return OTHER
