"""How long computations waited for Python's global interpreter lock, estimated from samples of workers."""

from __future__ import annotations

import numpy as np

from observatory.why.findings.observed.samples import Samples
from observatory.why.intervals import Numbers, Steps, distinct_times
from observatory.why.records import Spans

CONTENTION = "observatory_worker_gil_contention_ratio"


def gil_waits(spans: Spans, samples: Samples) -> tuple[Numbers, Numbers]:
    """Of each computation, in seconds: how long there was contention, and how long it waited itself.

    Of n tasks of a worker that compute at once and contend for the GIL, one runs: each waits 1 - 1/n of it.
    """
    contended, waited = np.zeros(len(spans)), np.zeros(len(spans))
    for worker in np.unique(samples.worker).tolist():
        rows = np.flatnonzero(spans.worker == worker)
        own = np.flatnonzero(samples.worker == worker)
        if not len(rows) or worker == 0:
            continue
        times, bins = spans.times.where(rows), samples.times.where(own)
        edges = distinct_times(times.start, times.stop, bins.start, bins.stop)
        # between the times of samples, the value of the next one holds
        place = np.minimum(np.searchsorted(bins.stop, edges[:-1], side="right"), len(own) - 1)
        ratio = np.clip(samples.value[own][place], 0, 1)
        running = np.maximum(times.counts(edges), 1)
        contended[rows] = Steps(edges, ratio).integrals(times) / 1e6
        waited[rows] = Steps(edges, ratio * (1 - 1 / running)).integrals(times) / 1e6
    return contended, waited
