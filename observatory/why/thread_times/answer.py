"""The API's answer: where the time of a window's threads went."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import psycopg

from observatory.replay.scope import Scope
from observatory.runs.other_work import other_work_in
from observatory.store.queries.timeline import snapshot
from observatory.store.queries.windows.prefixes import prefix_names
from observatory.store.queries.windows.thread_time import keys_of_computations
from observatory.why.findings.observed.samples import read_samples
from observatory.why.reading import read_accounted
from observatory.why.records import Spans
from observatory.why.thread_times.computing import Computing
from observatory.why.thread_times.cores import METRICS, without_core
from observatory.why.thread_times.kinds import BUSY, KINDS, TEXTS
from observatory.why.thread_times.thread_time import Accountant, ThreadTime, sums_by_prefix
from observatory.why.window import Item, readable_part

MOST_WORKERS, MOST_PREFIXES, MOST_WAITED_FOR = 1_000, 100, 20
LEAST_BLAME = 0.001
"""seconds of threads that a task that others waited for is listed from"""


def thread_times(
    connection: psycopg.Connection, scope: Scope, after: int, before: int, most: int | None = None
) -> Item:
    """Return the API's answer for [after, before) (microseconds). Raises TooManyTasks as readable_part."""
    cluster = scope.cluster.pk
    start, stop = readable_part(connection, scope, after, before, most)
    with snapshot(connection):
        others = other_work_in(connection, scope, stop)
        records = read_accounted(connection, cluster, start, stop, others)
        accountant = Accountant(records)
        computing = Computing(connection, scope, records, accountant.computing)
        samples = {metric: read_samples(connection, cluster, metric, (start, stop)) for metric in METRICS}
    found = accountant.account()
    seconds = found.seconds
    return {
        "start": start / 1e6,
        "stop": stop / 1e6,
        "has_agent": records.has_agent,
        "kinds": [
            {
                "kind": kind.value,
                "title": TEXTS[kind].title,
                "help": TEXTS[kind].help,
                "needs_agent": TEXTS[kind].needs_agent,
                "seconds": seconds[kind],
            }
            for kind in KINDS
        ],
        **_workers(found),
        "computing": computing.answer(found),
        "without_core": asdict(lost) if (lost := without_core(samples.__getitem__, found)) else None,
        **_prefixes(connection, scope, found, accountant.computing, computing.gil),
        "waited_for": _waited_for(connection, scope, found, accountant.computing),
        "over_time": {
            "start": start / 1e6,
            "width": (stop - start) / 1e6 / (len(found.bins) - 1),
            "seconds": [found.over_time[kind].round(6).tolist() for kind in KINDS],
        },
    }


def _workers(found: ThreadTime) -> Item:
    shares: list[Item] = [
        {"worker": id, "threads": one.threads, "seconds": [one.seconds[kind] for kind in KINDS]}
        for id, one in found.workers.items()
    ]
    idle = {
        id: sum(one.seconds[kind] for kind in KINDS if kind not in BUSY) for id, one in found.workers.items()
    }
    shares.sort(key=lambda share: -idle[share["worker"]])
    return {"workers": shares[:MOST_WORKERS], "other_workers": max(0, len(shares) - MOST_WORKERS)}


def _prefixes(
    connection: psycopg.Connection, scope: Scope, found: ThreadTime, computing: Spans, gil: dict[int, float]
) -> Item:
    names = prefix_names(connection, scope.cluster.pk)
    blamed = dict(sums_by_prefix(computing.prefix, found.blamed))
    shares: list[Item] = [
        {
            "prefix": id,
            "name": scope.text(names[id]),
            "seconds": [kinds[kind] for kind in KINDS],
            "blamed": blamed.get(id, 0.0),
            "gil": gil.get(id, 0.0),
        }
        for id, kinds in found.prefixes.items()
        if id in names
    ]
    shares.sort(key=lambda share: -sum(share["seconds"]))
    return {"prefixes": shares[:MOST_PREFIXES], "other_prefixes": max(0, len(shares) - MOST_PREFIXES)}


def _waited_for(
    connection: psycopg.Connection, scope: Scope, found: ThreadTime, computing: Spans
) -> list[Item]:
    places = np.argsort(-found.blamed, kind="stable")[:MOST_WAITED_FOR]
    places = places[found.blamed[places] >= LEAST_BLAME]
    spans = computing.where(places)
    keys = keys_of_computations(
        connection, scope.cluster.pk, spans.lane.tolist(), spans.recorded_start.tolist()
    )
    items = []
    for place, key in enumerate(keys):
        start, stop = scope.clip_seconds(spans.times.start[place] / 1e6, spans.times.stop[place] / 1e6)
        items.append(
            {
                "key": scope.text(key),
                "prefix": int(spans.prefix[place]),
                "worker": int(spans.worker[place]),
                "lane": int(spans.lane[place]),
                "start": float(start),
                "stop": float(stop),
                "seconds": float(found.blamed[places[place]]),
            }
        )
    return items
