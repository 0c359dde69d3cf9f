"""The number of tasks that erred."""

from __future__ import annotations


class ErredTaskCount:
    """Counts erred tasks from two sources, each of which misses some.

    counts.json has the number of tasks in the state erred: it falls when tasks are forgotten, and misses
    tasks that erred and were forgotten between two polls. The scheduler's /metrics counts transitions into
    erred, but is read less often. `reported`: erred tasks of the cluster that are stored already. More than
    those erred while nobody counted.
    """

    def __init__(self, reported: int = 0) -> None:
        self.current: int | None = None
        self.rises = reported
        self.base = 0.0
        self.transitions = float(reported)
        self.reported = reported

    def add_count(self, erred: int) -> int:
        """Adds the current number of erred tasks. Returns how many more erred than reported so far."""
        if self.current is None:
            self.rises = max(self.rises, erred)
        else:
            self.rises += max(0, erred - self.current)
        self.current = erred
        return self._report()

    def add_transitions(self, transitions: float) -> int:
        """Adds the total of transitions into erred. Returns how many more erred than reported so far."""
        if transitions < self.base + self.transitions:  # the scheduler forgot its counts
            self.base = transitions - self.reported
        self.transitions = transitions - self.base
        return self._report()

    def _report(self) -> int:
        new = max(self.rises, int(self.transitions)) - self.reported
        self.reported += max(0, new)
        return max(0, new)
