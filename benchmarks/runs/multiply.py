"""Multiplies a recorded run: copies one after the other and side by side; keys, workers and times shifted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from observatory.store.ingest.batches.batch import Batch
from observatory.store.keys import split_key
from observatory.wire.kind import Type
from observatory.wire.kinds import KINDS
from observatory.wire.records import Action, Event, Sample, Series, Span, Status, WorkerSeen

PAUSE = 1.0
"""seconds between two copies"""
SLICE = 5.0
"""seconds of the run in a batch"""
PORTS = 100
"""between the ports of a worker's copies"""
ADDRESSES = ("worker", "peer", "victim", "thief")
"""fields that hold a worker's address"""


class Recording:
    """All records of a run; times are seconds since its start."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self.spans = sorted(map(_span_of, _rows(batches, "span")), key=lambda span: span.stop)
        self.start = min(span.start for span in self.spans)
        self.length = self.spans[-1].stop - self.start + PAUSE
        inside = (self.start, self.start + self.length)
        self.rows = {
            kind: [
                row for row in _rows(batches, kind) if inside[0] <= row[KINDS[kind].time_index] < inside[1]
            ]
            for kind in KINDS
        }
        self.samples = [Sample(series, time, value) for time, value, series in self.rows["sample"]]
        self.events = [Event(*row) for row in self.rows["event"]]
        self.workers = list({w.address: w for batch in batches for w in batch.workers}.values())
        self.tasks = sum(span.action == Action.COMPUTE for span in self.spans)


def _rows(batches: Sequence[Batch], kind: str) -> list[tuple[Any, ...]]:
    return [row for batch in batches if kind in batch.records for row in batch.records[kind].rows()]


def _span_of(row: tuple[Any, ...]) -> Span:
    worker, thread, key, action, start, stop, nbytes, typename, status = row
    prefix, group = split_key(key)
    return Span(
        worker, thread, key, prefix, group, Action(action), start, stop, nbytes, typename, Status(status)
    )


def multiplied(
    run: Recording,
    cluster: int,
    tasks: int,
    start: float,
    most_beside: int = 4,
    kinds: Sequence[str] = (),
) -> Iterator[Batch]:
    """Batches of at least `tasks` tasks from `start` (seconds) on, in order of time.

    `kinds`: what else than workers, spans, samples and events is to be in them.
    """
    copies = math.ceil(tasks / run.tasks)
    beside = min(most_beside, copies)
    yield Batch.of(
        cluster, workers=[_worker(worker, copy, start) for copy in range(beside) for worker in run.workers]
    )
    for after in range(math.ceil(copies / beside)):
        shift = start - run.start + after * run.length
        yield from _copies(run, cluster, shift, after, range(beside), kinds)


def _copies(
    run: Recording, cluster: int, shift: float, after: int, beside: range, kinds: Sequence[str]
) -> Iterator[Batch]:
    for number in range(math.ceil(run.length / SLICE)):
        first, last = run.start + number * SLICE, run.start + (number + 1) * SLICE
        spans = [
            _span(span, shift, after, copy)
            for span in run.spans
            if first <= span.stop < last
            for copy in beside
        ]
        samples = [
            _sample(sample, shift, copy)
            for sample in run.samples
            if first <= sample.time < last
            for copy in (beside if sample.series.worker else beside[:1])
        ]
        events: list[Event] = [
            replace(event, time=event.time + shift) for event in run.events if first <= event.time < last
        ]
        rows = {
            kind: [
                _row(kind, row, shift, after, copy)
                for row in run.rows[kind]
                if first <= row[KINDS[kind].time_index] < last
                for copy in beside
            ]
            for kind in kinds
        }
        yield Batch.of(cluster, [], spans, samples, events, committed=last + shift, rows=rows)


def _row(kind: str, row: tuple[Any, ...], shift: float, after: int, copy: int) -> tuple[Any, ...]:
    moved = []
    for field, value in zip(KINDS[kind].fields, row, strict=True):
        if field.type is Type.TIME:
            value += shift
        elif field.type is Type.KEY:
            value = _key(value, split_key(value)[1], after, copy)
        elif field.name in ADDRESSES and value:
            value = _address(value, copy)
        moved.append(value)
    return tuple(moved)


def _key(key: str, group: str, after: int, copy: int) -> str:
    return key.replace(group, _group(group, after, copy), 1)


def _group(group: str, after: int, copy: int) -> str:
    return f"{group}{after:04x}{copy:x}" if "-" in group else group


def _span(span: Span, shift: float, after: int, copy: int) -> Span:
    return span._replace(
        worker=_address(span.worker, copy),
        key=_key(span.key, span.group, after, copy),
        group=_group(span.group, after, copy),
        start=span.start + shift,
        stop=span.stop + shift,
    )


def _sample(sample: Sample, shift: float, copy: int) -> Sample:
    series = sample.series
    moved = (
        series
        if not copy
        else Series(series.metric, series.labels, _address(series.worker, copy), series.type)
    )
    return Sample(moved, sample.time + shift, sample.value)


def _worker(worker: WorkerSeen, copy: int, start: float) -> WorkerSeen:
    return replace(worker, address=_address(worker.address, copy), name=f"{worker.name}.{copy}", time=start)


def _address(address: str, copy: int) -> str:
    host, _, port = address.rpartition(":")
    return f"{host}:{int(port) + copy * PORTS}" if copy else address
