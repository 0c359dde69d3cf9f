"""What two runs ran on and with: machines, versions, configuration, tags; and in what of it they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from observatory.comparison.summary import Window
from observatory.runs.models import Run
from observatory.store.queries.comparison import WorkerSpec, worker_specs

MACHINE = {
    "machine": "machine",
    "cpus": "CPUs seen",
    "platform": "platform",
    "container_memory_limit": "container's memory limit (bytes)",
    "python": "Python",
}
KINDS = {"versions": "version", "surroundings": "environment", "configuration": "configuration"}
MOST_VALUES = 5
"""of a fact are told; the workers of one run may differ, too"""
LONGEST = 300

Facts = dict[tuple[str, str], str]
"""values in words by kind and name"""


@dataclass(frozen=True, slots=True)
class Difference:
    kind: str
    """tag, hardware, version, environment, configuration, run"""
    name: str
    a: str
    b: str
    """in words; "" where it isn't known"""


def facts(connection: psycopg.Connection, run: Run, window: Window) -> Facts:
    """All that is known of what a run ran on and with."""
    workers = worker_specs(connection, window.cluster, window.start, window.stop)
    found: Facts = {("tag", name): str(value)[:LONGEST] for name, value in run.tags.items()}
    found["run", "cluster"] = run.cluster.name
    if run.user:
        found["run", "user"] = run.user
    hosts = {worker.host for worker in workers if worker.host}
    found["hardware", "workers"] = f"{len(workers):,}"
    found["hardware", "hosts"] = f"{len(hosts):,}"
    values: dict[tuple[str, str], list[str]] = {}
    for worker in workers:
        for kind, name, value in _told(worker):
            values.setdefault((kind, name), []).append(value[:LONGEST])
    return found | {key: _in_words(values, len(workers)) for key, values in values.items()}


def differences(a: Facts, b: Facts) -> tuple[list[Difference], list[Difference]]:
    """What differs, and what is the same, each in order of kind and name; tags come first."""
    order = ("tag", "hardware", "version", "configuration", "environment", "run")
    keys = sorted(a.keys() | b.keys(), key=lambda key: (order.index(key[0]), key[1]))
    found = [Difference(kind, name, a.get((kind, name), ""), b.get((kind, name), "")) for kind, name in keys]
    differ = [each for each in found if each.a != each.b and _is_known(each)]
    return differ, [each for each in found if each.a == each.b]


def _is_known(difference: Difference) -> bool:
    """An agent is told of more packages than the scheduler: one that is missing isn't another one."""
    return difference.kind != "version" or bool(difference.a and difference.b)


def _told(worker: WorkerSpec) -> Iterator[tuple[str, str, str]]:
    yield "hardware", "threads of a worker", str(worker.nthreads)
    yield (
        "hardware",
        "memory limit of a worker (bytes)",
        f"{worker.memory_limit:,}" if worker.memory_limit else "none",
    )
    for name, amount in worker.resources.items():
        yield "hardware", f"resource {name}", str(amount)
    for name, label in MACHINE.items():
        if told := _plain(worker.detail.get(name)):
            yield "version" if name == "python" else "hardware", label, told
    for name, kind in KINDS.items():
        group = worker.detail.get(name)
        group = group if isinstance(group, Mapping) else {}
        # the scheduler tells a worker's versions as Dask does, the worker its own
        for part, value in group.get("packages", group).items():
            yield kind, str(part)[:100], _plain(value)


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


def _in_words(values: Iterable[str], workers: int) -> str:
    """“4” where all workers say so, else “4 (3 workers), 8 (1 worker)”."""
    counts = Counter(values)
    if len(counts) == 1 and counts.total() == workers:
        return next(iter(counts))
    named = [
        f"{value or 'none'} ({count:,} worker{'' if count == 1 else 's'})"
        for value, count in counts.most_common(MOST_VALUES)
    ]
    more = len(counts) - MOST_VALUES
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")
