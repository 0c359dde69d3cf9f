"""Multiplies a recorded run: copies one after the other and side by side; keys, workers and times shifted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from observatory.wire.records import Action, Batch, Event, Sample, Series, Span, WorkerSeen

PAUSE = 1.0
"""seconds between two copies"""
SLICE = 5.0
"""seconds of the run in a batch"""
PORTS = 100
"""between the ports of a worker's copies"""


class Recording:
    """All records of a run; times are seconds since its start."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self.spans = sorted((s for batch in batches for s in batch.spans), key=lambda span: span.stop)
        self.start = min(span.start for span in self.spans)
        self.length = self.spans[-1].stop - self.start + PAUSE
        inside = (self.start, self.start + self.length)
        self.samples = [s for batch in batches for s in batch.samples if inside[0] <= s.time < inside[1]]
        self.events = [e for batch in batches for e in batch.events if inside[0] <= e.time < inside[1]]
        self.workers = list({w.address: w for batch in batches for w in batch.workers}.values())
        self.tasks = sum(span.action == Action.COMPUTE for span in self.spans)


def multiplied(
    run: Recording, cluster: int, tasks: int, start: float, most_beside: int = 4
) -> Iterator[Batch]:
    """Batches of at least `tasks` tasks from `start` (seconds) on, in order of time."""
    copies = math.ceil(tasks / run.tasks)
    beside = min(most_beside, copies)
    yield Batch(
        cluster, workers=[_worker(worker, copy, start) for copy in range(beside) for worker in run.workers]
    )
    for after in range(math.ceil(copies / beside)):
        shift = start - run.start + after * run.length
        yield from _copies(run, cluster, shift, after, range(beside))


def _copies(run: Recording, cluster: int, shift: float, after: int, beside: range) -> Iterator[Batch]:
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
        yield Batch(cluster, [], spans, samples, events, committed=last + shift)


def _span(span: Span, shift: float, after: int, copy: int) -> Span:
    group = f"{span.group}{after:04x}{copy:x}" if "-" in span.group else span.group
    key = span.key.replace(span.group, group, 1)
    return replace(
        span,
        worker=_address(span.worker, copy),
        key=key,
        group=group,
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
