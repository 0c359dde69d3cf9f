"""When all threads of a cluster computed, and which computation made room when it ended."""

from __future__ import annotations

import numpy as np

from observatory.why.critical_path.predecessors import NONE
from observatory.why.intervals import Integers, Intervals
from observatory.why.records import Records, Spans


class Room:
    """Finds the last time before another one when no thread was free."""

    def __init__(self, records: Records, computing: Spans) -> None:
        own, others = computing.in_pool, records.others.times
        threads = np.array([worker.threads for worker in records.workers], np.int64)
        begun, gone = (
            np.array([getattr(worker, at) for worker in records.workers], np.int64)
            for at in ("start", "stop")
        )
        time = np.concatenate([own.stop, others.stop, own.start, others.start, begun, gone])
        count, work = len(own) + len(others), len(own) * 2 + len(others) * 2
        free = np.concatenate([np.ones(count, np.int64), -np.ones(count, np.int64), threads, -threads])
        order = np.argsort(time, kind="stable")  # of those at once, the ends of own computations first
        first = np.flatnonzero(np.diff(time[order], prepend=-1))
        last = np.append(first, len(order))[1:] - 1
        has_threads = np.cumsum(np.where(order >= work, free[order], 0))[last] > 0
        is_full = (np.cumsum(free[order])[last] <= 0) & has_threads
        begins = np.flatnonzero(is_full & ~np.append(False, is_full[:-1]))
        ends = np.flatnonzero(~is_full & np.append(False, is_full[:-1]))
        at = time[order[first]]
        self.full = Intervals(at[begins], at[ends])
        """when no thread was free"""
        ended = order[first[ends]]
        self._places: Integers = np.where(ended < len(own), ended, NONE)

    def made(self, before: int) -> tuple[int, int]:
        """The computation that made room when it ended, and when that was; NONE and 0: there always was."""
        at = int(self.full.start.searchsorted(before)) - 1
        if at < 0:
            return NONE, 0
        return int(self._places[at]), min(before, int(self.full.stop[at]))
