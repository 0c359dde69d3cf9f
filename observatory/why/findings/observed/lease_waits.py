"""How long computations waited for leases of Dask's locks: it is known how many wait, and not which."""

from __future__ import annotations

import numpy as np

from observatory.why.intervals import Integers, Intervals, Numbers, Steps, distinct_times
from observatory.why.records import Spans


def lease_waits(computing: Spans, rows: Integers, pending: Steps) -> Numbers:
    """Return the seconds that each of some computations waited, of which `pending` waited at each time.

    Each of `rows` that ran at a time has the same share of those that waited then.
    """
    times = computing.times.where(rows)
    found = np.zeros(len(computing))
    if len(rows) and len(pending.edges) > 1:
        found[rows] = _share(times, pending).integrals(times) / 1e6
    return found


def _share(times: Intervals, pending: Steps) -> Steps:
    """The share of those which ran that waited."""
    edges = distinct_times(times.start, times.stop, pending.edges)
    running = np.maximum(times.counts(edges), 1)
    return Steps(edges, np.minimum(pending.at(edges[:-1]) / running, 1.0))
