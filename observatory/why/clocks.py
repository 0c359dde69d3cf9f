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
MOST_OVERLAP = 1_000_000
"""microseconds of two computations of a thread, that a clock explains; over that, it had two at once"""


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
        spans = replace(spans, times=_moved(spans.times, shift), seceded=spans.seceded + shift)
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
        return cls(_paired(computing, rows, is_sent, -UNKNOWN), reported_times(computing, rows))


def reported_times(computing: Spans, rows: Transitions) -> Integers:
    """When the scheduler heard of the end of each computation; UNKNOWN where that isn't known."""
    is_end = (rows.start == PROCESSING) & np.isin(rows.finish, (MEMORY, ERRED)) & (rows.worker > 0)
    return _paired(computing, rows, is_end, UNKNOWN)


def _paired(computing: Spans, rows: Transitions, wanted: Flags, unknown: int) -> Integers:
    """The time of the n-th transition of a task and worker for its n-th computation there.

    `unknown` where there are more of the ones than of the others.
    """
    of_spans = _of_task_and_worker(computing.task, computing.worker)
    of_rows, times = _of_task_and_worker(rows.task[wanted], rows.worker[wanted]), rows.time[wanted]
    spans, order = np.lexsort((computing.times.start, of_spans)), np.lexsort((times, of_rows))
    found, first, counts = _unique_of_sorted(of_spans[spans])
    owners, first_row, rows_there = _unique_of_sorted(of_rows[order])
    paired = np.full(len(computing), unknown)
    if not len(owners):
        return paired
    place = np.minimum(np.searchsorted(owners, found), len(owners) - 1)
    is_paired = np.repeat((owners[place] == found) & (rows_there[place] == counts), counts)
    within = np.arange(len(spans)) - np.repeat(first, counts)
    at = (np.repeat(first_row[place], counts) + within)[is_paired]
    paired[spans[is_paired]] = times[order[at]]
    return paired


def _unique_of_sorted(values: Integers) -> tuple[Integers, Integers, Integers]:
    """As np.unique: the different ones of sorted values, the place of the first of each, and their counts."""
    is_first = np.ones(len(values), np.bool_)
    is_first[1:] = values[1:] != values[:-1]
    first = np.flatnonzero(is_first)
    return values[first], first, np.diff(first, append=len(values))


def _of_task_and_worker(task: Integers, worker: Integers) -> Integers:
    """A number for both: tasks are hashes, all bits of which are random."""
    mixed: Integers = task ^ (worker * 0x9E3779B97F4A7C1)
    return mixed


def _shifts(computing: Spans, known: SchedulerTimes) -> Integers:
    """Microseconds by which each computation was later than its worker's clock said."""
    shifts = np.zeros(len(computing), np.int64)
    wrong = np.unique(computing.worker[_is_wrong(computing, known)])
    places = np.flatnonzero(np.isin(computing.worker, wrong))
    if len(places):
        found = SchedulerTimes(known.sent[places], known.reported[places])
        shifts[places] = _shifts_of_wrong(computing.where(places), found)
    return shifts


def _is_wrong(computing: Spans, known: SchedulerTimes) -> Flags:
    """Whether the times of a computation can't be as they are, or not after those before it on its thread."""
    start, stop = computing.times.start, computing.times.stop
    found = (start < known.sent) | (stop > known.reported)
    order = np.lexsort((start, computing.lane))
    before, after = order[:-1], order[1:]
    heard = np.where(known.reported < UNKNOWN, known.reported, -UNKNOWN)
    is_earlier = (start[after] < stop[before]) | ((heard[after] < heard[before]) & (heard[after] > -UNKNOWN))
    found[after] |= is_earlier & (computing.lane[after] == computing.lane[before])
    return found


def _shifts_of_wrong(computing: Spans, known: SchedulerTimes) -> Integers:
    """Of computations of workers whose times can't be as they are."""
    shifts = np.zeros(len(computing), np.int64)
    by_thread = _by_thread(computing, known)
    if not (known.sent > -UNKNOWN).any() and not (known.reported < UNKNOWN).any():
        return _one_by_one(computing, by_thread)
    low, high = _bounds(computing, known, by_thread)
    order = _by_worker(computing, by_thread)
    edges = np.flatnonzero(np.diff(computing.worker[order], prepend=-1, append=-1))
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        rows = order[first:last]
        shifts[rows] = list(_of_worker(computing, low, high, rows))
    return shifts


def _by_thread(computing: Spans, known: SchedulerTimes) -> Integers:
    """The computations of each thread in the order in which they ended, as far as the scheduler heard of it.

    A worker reports them in that order, while its clock can have been corrected between two that are short.
    """
    start = computing.times.start
    order = np.lexsort((start, computing.lane))
    is_heard = known.reported < UNKNOWN
    heard = np.lexsort((start, known.reported, computing.lane))
    order[is_heard[order]] = heard[is_heard[heard]]
    return order


def _by_worker(computing: Spans, by_thread: Integers) -> Integers:
    """The computations of each worker in the order in which they began, those of a thread one by one."""
    latest = _accumulated(np.maximum, computing.times.start[by_thread], computing.lane[by_thread])
    found: Integers = by_thread[np.lexsort((latest, computing.worker[by_thread]))]
    return found


def _accumulated(function: np.ufunc, values: Integers, lanes: Integers) -> Integers:
    """The values of each lane, accumulated. Those of a lane follow each other."""
    first = np.flatnonzero(np.diff(lanes))
    return np.concatenate([function.accumulate(part) for part in np.split(values, first + 1)])


def _one_by_one(computing: Spans, by_thread: Integers) -> Integers:
    """Shifts after which no thread has two tasks at once, where nothing else is known of their times.

    Halfway between moving the later one and moving the earlier one, so that errors don't add up.
    """
    start, stop, lane = (
        column[by_thread] for column in (computing.times.start, computing.times.stop, computing.lane)
    )
    done = np.cumsum(stop - start)
    later = _accumulated(np.maximum, stop - done, lane) + done - stop
    earlier = _accumulated(np.minimum, (stop - done)[::-1], lane[::-1])[::-1] + done - stop
    shift = (later + earlier) // 2
    shifts = np.zeros_like(shift)
    shifts[by_thread] = np.where(np.maximum(later, -earlier) > MOST_OVERLAP, 0, shift)
    return shifts


def _bounds(computing: Spans, known: SchedulerTimes, by_thread: Integers) -> tuple[Integers, Integers]:
    """The least and the greatest shift of each computation.

    It can't begin before all those sent earlier to its thread can have ended, nor end so late that one after
    it would. Where that is a contradiction, a thread had two tasks at once: each is bound by its own times.
    """
    start, stop, lane = computing.times.start, computing.times.stop, computing.lane[by_thread]
    length = (stop - start)[by_thread]
    done = np.cumsum(length)
    sent, reported = known.sent[by_thread] - done + length, known.reported[by_thread] - done
    low, high = np.empty_like(start), np.empty_like(start)
    low[by_thread] = _accumulated(np.maximum, sent, lane) + done - length
    high[by_thread] = _accumulated(np.minimum, reported[::-1], lane[::-1])[::-1] + done
    low, high = low - start, high - stop
    is_one_by_one = low <= high
    greatest = np.where(is_one_by_one, high, known.reported - stop)
    least = np.where(is_one_by_one, low, np.minimum(known.sent - start, greatest))
    return np.where(least < -UNKNOWN // 2, -UNKNOWN, least), np.where(
        greatest > UNKNOWN // 2, UNKNOWN, greatest
    )


def _of_worker(computing: Spans, low: Integers, high: Integers, rows: Integers) -> Iterator[int]:
    """Yield the shift of each computation of a worker. `rows`: in the order in which they began.

    `low`, `high`: the bounds of each computation.
    """
    freed: dict[int, int] = {}
    """when the last computation of each lane ended, corrected, of those whose shift is known"""
    ended: dict[int, int] = {}
    """the same as recorded, of those since"""
    least, most, count = -UNKNOWN, UNKNOWN, 0
    columns = (computing.times.start, computing.times.stop, low, high, computing.lane)
    for start, stop, lowest, highest, lane in zip(*(one[rows].tolist() for one in columns), strict=True):
        after = min(freed.get(lane, -UNKNOWN) - start, highest)
        if max(least, lowest, after) > min(most, highest) or ended.get(lane, start) > start:
            shift = _nearest_to_none(least, most)
            freed |= {one: time + shift for one, time in ended.items()}
            yield from [shift] * count
            ended, least, most, count = {}, -UNKNOWN, UNKNOWN, 0
            after = min(freed.get(lane, -UNKNOWN) - start, highest)
        least, most, count = max(least, lowest, after), min(most, highest), count + 1
        ended[lane] = stop
    yield from [_nearest_to_none(least, most)] * count


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
