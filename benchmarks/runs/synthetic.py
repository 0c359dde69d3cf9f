"""Synthetic recordings of any shape, from a seed: workers with samples that compute task after task."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from observatory.store.ingest.batches.batch import Batch
from observatory.wire.layers import LAYERS
from observatory.wire.metrics import METRICS
from observatory.wire.records import Action, MetricType, Sample, Series, Span, WorkerSeen

SEED = 14
OMITTED = ("gpu", "bandwidth", "prefix-memory", "semaphores")
"""layers that most clusters have no samples of"""
LEAST = 0.001
"""seconds of a task"""
SCALES = {"percent": 40.0, "ratio": 0.1, "seconds": 0.01}
"""of gauges by unit: values at which no alert fires"""


@dataclass(frozen=True, slots=True)
class Shape:
    """A recording's shape."""

    name: str
    workers: int
    tasks: int
    seconds: float
    """its length"""
    threads: int = 2
    prefixes: int = 12
    step: float = 5.0
    """seconds between two samples of a series"""
    slice: float = 10.0
    """seconds in a batch"""
    duration: float = 0.0
    """seconds of a task, on average; 0: threads are busy three quarters of the time"""

    @property
    def lanes(self) -> int:
        return self.workers * self.threads


def batches(shape: Shape, cluster: int, start: float) -> Iterator[Batch]:
    """Yield the batches of a recording that starts at `start` (seconds), in order of time, without an end."""
    random = Random(SEED)
    yield Batch.of(cluster, workers=[_worker(shape, number, start) for number in range(shape.workers)])
    share = shape.seconds * shape.lanes / shape.tasks
    lanes = _Lanes(shape, random, start, shape.duration or 0.75 * share, share)
    series = _series(shape)
    step = 0
    while True:
        first, last = start + step * shape.slice, start + (step + 1) * shape.slice
        spans = lanes.until(last)
        samples = [
            sample for place, one in enumerate(series) for sample in _samples(shape, one, place, first, last)
        ]
        yield Batch.of(cluster, spans=spans, samples=samples, committed=last)
        step += 1


class _Lanes:
    """The threads of all workers; each computes one task after the other."""

    def __init__(self, shape: Shape, random: Random, start: float, duration: float, share: float) -> None:
        self.shape, self.random = shape, random
        self.duration, self.pause = duration, max(share - duration, LEAST)
        self.numbers = 0
        self.next = [(start + random.uniform(0, share), number) for number in range(shape.lanes)]

    def until(self, last: float) -> list[Span]:
        """Return the tasks that end before `last` and weren't returned before, in order of their ends."""
        found = []
        for lane, (start, number) in enumerate(self.next):
            while True:
                stop = start + self._duration(number)
                if stop >= last:
                    break
                found.append(self._span(lane, number, start, stop))
                self.numbers += 1
                start, number = (
                    stop + self.random.expovariate(1 / self.pause),
                    self.shape.lanes + self.numbers,
                )
            self.next[lane] = (start, number)
        return sorted(found, key=lambda span: span.stop)

    def _duration(self, number: int) -> float:
        """Return the seconds of a task, always the same: from a half to two times the mean."""
        return max(LEAST, self.duration * (0.5 + (number * 2_654_435_761 % 1000) / 1000))

    def _span(self, lane: int, number: int, start: float, stop: float) -> Span:
        prefix = f"prefix{number * 7919 % self.shape.prefixes}"
        worker, thread = divmod(lane, self.shape.threads)
        key = f"('{prefix}-{number >> 12:08x}', {number & 4095})"
        group = f"{prefix}-{number >> 12:08x}"
        start, stop = round(start, 6), round(stop, 6)
        return Span(_address(worker), thread + 1, key, prefix, group, Action.COMPUTE, start, stop, 800, "int")


def _series(shape: Shape) -> list[Series]:
    found = []
    for layer, metrics in LAYERS.items():
        for metric in metrics if layer not in OMITTED else ():
            if metric.startswith("observatory_"):
                workers = (
                    [_address(worker) for worker in range(shape.workers)] if "_worker_" in metric else [""]
                )
                found += [
                    Series(metric, labels, worker, _type(metric))
                    for worker in workers
                    for labels in _labels(metric)
                ]
    return found


def _labels(metric: str) -> list[tuple[tuple[str, str], ...]]:
    """Return the labels of each series of a metric and a worker."""
    declared = METRICS[metric].labels
    return [((name, value),) for name, values in declared.items() for value in values] or [()]


def _type(metric: str) -> MetricType:
    return MetricType.COUNTER if metric.endswith("_total") else MetricType.GAUGE


def _samples(shape: Shape, series: Series, place: int, first: float, last: float) -> Iterator[Sample]:
    """Yield the samples of a series in [first, last): those of workers at different times."""
    phase = place * 0.37 % shape.step if series.worker else 0.0
    number = math.ceil((first - phase) / shape.step)
    while (time := number * shape.step + phase) < last:
        wave = math.sin(number / 20 + place) + 1.1
        noise = (number * 7919 + place * 104_729) % 1000 / 1000
        scale = SCALES.get(METRICS[series.metric].unit, 1e6)
        value = number * 10.0 if series.type is MetricType.COUNTER else scale * (wave + 0.1 * noise)
        yield Sample(series, round(time, 6), value)
        number += 1


def _worker(shape: Shape, number: int, start: float) -> WorkerSeen:
    host = f"10.0.{number // 200}.{number // 4 % 50}"
    return WorkerSeen(_address(number), f"worker-{number}", host, shape.threads, 16 * 2**30, start)


def _address(number: int) -> str:
    return f"tcp://10.0.{number // 200}.{number // 4 % 50}:{40_000 + number}"
