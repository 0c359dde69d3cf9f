"""Times of workers, corrected by what causes what.

Dask corrects a worker's clock by heartbeats, each of which is wrong by up to its latency. Between two of them
the error is the same for all spans that begin. A span can't begin before its task was sent or the one before
on its thread had ended, nor end after the scheduler heard of it: that bounds the error. As long as all bounds
agree the error is taken as constant, and as the one nearest to none; where they don't, another one begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from observatory.why.intervals import Flags, Integers, Intervals
from observatory.why.records import OfWorkers, Records, Spans, Transitions
from observatory.wire.records import TASK_STATES, Action

PROCESSING, MEMORY, ERRED = map(TASK_STATES.index, ("processing", "memory", "erred"))
UNKNOWN = 1 << 60
"""microseconds: a bound that isn't known"""


def corrected(records: Records) -> Records:
    """Return the records with the times of workers as the scheduler's clock would have had them."""
    places = np.flatnonzero(records.spans.action == Action.COMPUTE)
    if not len(places):
        return records
    computing = records.spans.where(places)
    known = SchedulerTimes.of(computing, records.transitions)
    shifts = _shifts(computing, known)
    spans, transfers = records.spans, records.transfers
    if shifts.any():
        shift = _of_others(computing, shifts, spans.worker, spans.times)
        shift[places] = shifts
        spans = replace(spans, times=_moved(spans.times, shift))
        shift = _of_others(computing, shifts, transfers.worker, transfers.times)
        transfers = OfWorkers(transfers.worker, _moved(transfers.times, shift))
    return replace(records, spans=spans, transfers=transfers, clock_errors=_errors(computing, known, shifts))


@dataclass(frozen=True, slots=True)
class SchedulerTimes:
    """Of each computation: when its task was sent to its worker, and when the scheduler heard of its end.

    By the scheduler's clock, in microseconds; -UNKNOWN and UNKNOWN where that isn't known.
    """

    sent: Integers
    reported: Integers

    @classmethod
    def of(cls, computing: Spans, rows: Transitions) -> SchedulerTimes:
        is_sent = (rows.finish == PROCESSING) & (rows.worker > 0)
        is_end = (rows.start == PROCESSING) & np.isin(rows.finish, (MEMORY, ERRED)) & (rows.worker > 0)
        return cls(_paired(computing, rows, is_sent, -UNKNOWN), _paired(computing, rows, is_end, UNKNOWN))


def _paired(computing: Spans, rows: Transitions, wanted: Flags, unknown: int) -> Integers:
    """The time of the n-th transition of a task and worker for its n-th computation there.

    `unknown` where there are more of the ones than of the others.
    """
    of_spans = _of_task_and_worker(computing.task, computing.worker)
    of_rows, times = _of_task_and_worker(rows.task[wanted], rows.worker[wanted]), rows.time[wanted]
    spans, order = np.lexsort((computing.times.start, of_spans)), np.lexsort((times, of_rows))
    found, first, counts = np.unique(of_spans[spans], return_index=True, return_counts=True)
    owners, first_row, rows_there = np.unique(of_rows[order], return_index=True, return_counts=True)
    paired = np.full(len(computing), unknown)
    if not len(owners):
        return paired
    place = np.minimum(np.searchsorted(owners, found), len(owners) - 1)
    is_paired = np.repeat((owners[place] == found) & (rows_there[place] == counts), counts)
    within = np.arange(len(spans)) - np.repeat(first, counts)
    at = (np.repeat(first_row[place], counts) + within)[is_paired]
    paired[spans[is_paired]] = times[order[at]]
    return paired


def _of_task_and_worker(task: Integers, worker: Integers) -> Integers:
    """A number for both: tasks are hashes, all bits of which are random."""
    mixed: Integers = task ^ (worker * 0x9E3779B97F4A7C1)
    return mixed


def _shifts(computing: Spans, known: SchedulerTimes) -> Integers:
    """Microseconds by which each computation was later than its worker's clock said."""
    shifts = np.zeros(len(computing), np.int64)
    order = np.lexsort((computing.times.start, computing.worker))
    edges = np.flatnonzero(np.diff(computing.worker[order], prepend=-1, append=-1))
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        rows = order[first:last]
        if not _is_right(computing, known, rows):
            shifts[rows] = list(_of_worker(computing, known, rows))
    return shifts


def _is_right(computing: Spans, known: SchedulerTimes, rows: Integers) -> bool:
    """Whether all times of a worker can be as they are."""
    start, stop = computing.times.start[rows], computing.times.stop[rows]
    if (start < known.sent[rows]).any() or (stop > known.reported[rows]).any():
        return False
    lane = computing.lane[rows]
    order = np.lexsort((start, lane))
    is_next = lane[order][1:] == lane[order][:-1]
    return not (is_next & (start[order][1:] < stop[order][:-1])).any()


def _of_worker(computing: Spans, known: SchedulerTimes, rows: Integers) -> Iterator[int]:
    """Yield the shift of each computation of a worker, in the order in which they began."""
    freed: dict[int, int] = {}
    """when the last computation of each lane ended, corrected, of those whose shift is known"""
    ended: dict[int, int] = {}
    """the same as recorded, of those since"""
    least, most, count = -UNKNOWN, UNKNOWN, 0
    columns = (computing.times.start, computing.times.stop, known.sent, known.reported, computing.lane)
    for start, stop, sent, reported, lane in zip(*(one[rows].tolist() for one in columns), strict=True):
        low, high = _bounds(start, stop, sent, reported)
        after = min(freed.get(lane, -UNKNOWN) - start, high)
        if max(least, low, after) > min(most, high) or ended.get(lane, start) > start:
            shift = _nearest_to_none(least, most)
            freed |= {one: time + shift for one, time in ended.items()}
            yield from [shift] * count
            ended, least, most, count = {}, -UNKNOWN, UNKNOWN, 0
            after = min(freed.get(lane, -UNKNOWN) - start, high)
        least, most, count = max(least, low, after), min(most, high), count + 1
        ended[lane] = stop
    yield from [_nearest_to_none(least, most)] * count


def _bounds(start: int, stop: int, sent: int, reported: int) -> tuple[int, int]:
    """The least and the greatest shift."""
    low = sent - start if sent > -UNKNOWN else -UNKNOWN
    high = reported - stop if reported < UNKNOWN else UNKNOWN
    return min(low, high), high


def _nearest_to_none(least: int, most: int) -> int:
    return min(max(0, least), most)


def _of_others(computing: Spans, shifts: Integers, worker: Integers, times: Intervals) -> Integers:
    """The shift of other times of workers: that of the next computation there, else of the last."""
    by_start = np.lexsort((computing.times.start, computing.worker))
    owner, start = computing.worker[by_start], computing.times.start[by_start]
    first = int(min(start.min(), times.stop.min(initial=start[0])))
    width = int(max(start.max(), times.stop.max(initial=start[0]))) - first + 1
    ids, code = np.unique(owner, return_inverse=True)
    wanted = np.minimum(np.searchsorted(ids, worker), len(ids) - 1)
    place = np.searchsorted(code * width + start - first, wanted * width + times.stop - first)
    # the first one of the next worker: it was the last one of this
    place = np.minimum(place, np.searchsorted(code, wanted, side="right") - 1)
    return np.where(ids[wanted] == worker, shifts[by_start[place]], 0)


def _moved(times: Intervals, shift: Integers) -> Intervals:
    return Intervals(times.start + shift, times.stop + shift)


def _errors(computing: Spans, known: SchedulerTimes, shifts: Integers) -> dict[int, int]:
    """By how much times of each worker can still be wrong: their order is, or nothing bounds them."""
    start, stop = computing.times.start + shifts, computing.times.stop + shifts
    error = np.maximum(known.sent - start, stop - known.reported)
    is_bound = (known.sent > -UNKNOWN) & (known.reported < UNKNOWN)
    error = np.maximum(error, np.where(is_bound, 0, np.abs(shifts)))
    order = np.lexsort((start, computing.lane))
    is_next = computing.lane[order][1:] == computing.lane[order][:-1]
    overlap = np.where(is_next, stop[order][:-1] - start[order][1:], 0)
    error[order[1:]] = np.maximum(error[order[1:]], overlap)
    workers, place = np.unique(computing.worker, return_inverse=True)
    most = np.zeros(len(workers), np.int64)
    np.maximum.at(most, place, error)
    return {id: one for id, one in zip(workers.tolist(), most.tolist(), strict=True) if one > 0}
