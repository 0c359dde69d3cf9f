"""The environment of runs (hardware, versions, configuration, release, tags) and the differences of two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import psycopg

from observatory.comparison.run_summary import RunWindow
from observatory.replay.windows.worker_facts import (
    SOFTWARE,
    Fact,
    facts_of,
    facts_of_process,
    facts_of_scheduler,
)
from observatory.runs.models import Run
from observatory.store.queries.windows.workers.environment import (
    WorkerSpec,
    client_detail_of_run,
    last_client_detail,
    scheduler_detail,
    worker_specs,
)

MOST_VALUES = 5
"""shown for one fact, since workers of one run can differ, too"""
LONGEST = 300

Facts = dict[tuple[str, str], str]
"""values as text, by kind and name"""


@dataclass(frozen=True, slots=True)
class Difference:
    kind: str
    """tag, label, release, hardware, version, environment, configuration, run"""
    name: str
    a: str
    b: str
    """as text; "" if unknown"""


def facts(connection: psycopg.Connection, run: Run, window: RunWindow) -> Facts:
    """All known facts about the environment of a run."""
    workers = worker_specs(connection, window.cluster, window.start, window.stop)
    found = facts_of_workers(workers)
    found |= {("tag", name): str(value)[:LONGEST] for name, value in run.tags.items()}
    found["run", "cluster"] = run.cluster.name
    if run.user:
        found["run", "user"] = run.user
    scheduler = scheduler_detail(connection, window.cluster, window.stop)
    client = (
        last_client_detail(connection, window.cluster, window.stop)
        if run.code_id is None
        else client_detail_of_run(connection, window.cluster, run.code_id, run.start)
    )
    facts_of = {
        "client": _of_software(facts_of_process(client)),
        "scheduler": _of_software(facts_of_scheduler(scheduler)),
        "workers": {key: value for key, value in found.items() if key[0] in SOFTWARE},
    }
    for key in {key for facts in facts_of.values() for key in facts}:
        found[key] = _by_process({process: facts[key] for process, facts in facts_of.items() if key in facts})
    return found


def facts_of_workers(workers: Sequence[WorkerSpec]) -> Facts:
    """The facts that the workers told of themselves, and how many they are. One that was restarted is one."""
    hosts = {worker.host for worker in workers if worker.host}
    slots = {worker.slot for worker in workers}
    found = {("hardware", "workers"): f"{len(slots):,}", ("hardware", "hosts"): f"{len(hosts):,}"}
    values: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for worker in workers:
        for kind, name, value in facts_of(worker):
            values.setdefault((kind, name), set()).add((value[:LONGEST], worker.slot))
    return found | {
        key: _summary((value for value, _ in of_slots), len(slots)) for key, of_slots in values.items()
    }


def differences(a: Facts, b: Facts) -> tuple[list[Difference], list[Difference]]:
    """The facts that differ and those that are the same, both sorted by kind and name."""
    order = ("tag", "label", "release", "hardware", "version", "configuration", "environment", "run")
    keys = sorted(a.keys() | b.keys(), key=lambda key: (order.index(key[0]), key[1]))
    found = [Difference(kind, name, a.get((kind, name), ""), b.get((kind, name), "")) for kind, name in keys]
    differ = [each for each in found if each.a != each.b and _is_known(each)]
    return differ, [each for each in found if each.a == each.b]


def _is_known(difference: Difference) -> bool:
    """A version missing on one side is no difference: agents report more packages than schedulers."""
    return difference.kind != "version" or bool(difference.a and difference.b)


def _of_software(facts: Iterable[Fact]) -> Facts:
    return {(kind, name): value[:LONGEST] for kind, name, value in facts if kind in SOFTWARE}


def _by_process(values: Mapping[str, str]) -> str:
    """“2026.11” if all processes agree, otherwise what each of them has."""
    if len({*values.values()}) == 1:
        return next(iter(values.values()))
    return "; ".join(f"{process}: {value or 'none'}" for process, value in values.items())


def _summary(values: Iterable[str], workers: int) -> str:
    """“4” if all workers agree, otherwise “4 (3 workers), 8 (1 worker)”."""
    counts = Counter(values)
    if len(counts) == 1 and counts.total() == workers:
        return next(iter(counts))
    named = [
        f"{value or 'none'} ({count:,} worker{'' if count == 1 else 's'})"
        for value, count in counts.most_common(MOST_VALUES)
    ]
    more = len(counts) - MOST_VALUES
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")
