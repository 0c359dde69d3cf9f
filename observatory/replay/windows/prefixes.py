"""What the tasks of each prefix and group did in a window: durations, errors, workers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import psycopg

from observatory.replay.scope import Scope
from observatory.replay.windows.durations import BARS_OF_AN_OCTAVE, QUANTILES, durations_of
from observatory.replay.windows.slowest import slowest
from observatory.replay.windows.sums import Sums, sums
from observatory.store.queries.sums.error_sums import ERROR_SUMS
from observatory.store.queries.sums.group_sums import GROUP_SUMS
from observatory.store.queries.sums.prefix_sums import PREFIX_SUMS
from observatory.store.queries.sums.prefix_transfer_sums import PREFIX_TRANSFER_SUMS
from observatory.store.queries.sums.sum_layer import REST, Columns
from observatory.store.queries.sums.worker_sums import WORKER_SUMS
from observatory.store.queries.windows import prefixes as store
from observatory.wire.records import Action

MOST_PREFIXES = 500
"""prefixes or groups in an answer"""
MOST_SLOWEST, MOST_WORKERS, MOST_GROUPS = 20, 50, 20
"""of a prefix in detail"""
DURATION_UNIT = 1e-6
"""seconds of the first bin of a histogram"""
WAITING = {
    "transfer": (Action.TRANSFER,),
    "disk": (Action.DISK_READ, Action.DISK_WRITE),
    "serialization": (Action.DESERIALIZE, Action.SERIALIZE),
}

Item = dict[str, Any]


def prefixes_of(connection: psycopg.Connection, scope: Scope, after: int, before: int) -> Item:
    """Return the API's prefixes of [after, before) (microseconds)."""
    found = sums(connection, scope, PREFIX_SUMS, after, before)
    failed = sums(connection, scope, ERROR_SUMS, after, before)
    workers = sums(connection, scope, WORKER_SUMS, after, before)
    fetched = sums(connection, scope, PREFIX_TRANSFER_SUMS, after, before).columns
    names = store.prefix_names(connection, scope.cluster.pk)
    columns = found.columns
    computing = _where(columns, columns["action"] == Action.COMPUTE)
    ids = [int(id) for id in np.unique([*columns["prefix"], *failed.columns["prefix"]]) if id in names]
    seconds = _by(computing, "prefix", computing["seconds"])
    received = _by(fetched, "prefix", fetched["nbytes"])
    ids.sort(key=lambda id: (-seconds[id], names[id]))
    shown = ids[:MOST_PREFIXES]
    exact = _exact_quantiles(connection, scope, found, "prefix")
    return {
        **_bins(found),
        "prefixes": [
            {
                "prefix": id,
                "name": scope.text(names[id]),
                **_durations(_where(computing, computing["prefix"] == id), exact.get(id)),
                **_waiting(_where(columns, columns["prefix"] == id)),
                "received": received[id],
                **_failures(_where(failed.columns, failed.columns["prefix"] == id)),
                "workers": _count_workers(workers, computing, id),
            }
            for id in shown
        ],
        **_others(found, seconds, ids, shown),
    }


def groups_of(connection: psycopg.Connection, scope: Scope, after: int, before: int) -> Item:
    """Return the API's groups of [after, before) (microseconds)."""
    found = sums(connection, scope, GROUP_SUMS, after, before)
    seconds = _by(found.columns, "task_group", found.columns["seconds"])
    ids = _largest(seconds)
    shown = ids[:MOST_PREFIXES]
    return {
        **_bins(found),
        "groups": _groups(connection, scope, found, shown),
        **_others(found, seconds, ids, shown),
    }


def prefix_details(
    connection: psycopg.Connection, scope: Scope, prefixes: Sequence[int], after: int, before: int
) -> Iterator[Item]:
    """Yield the API's detail of each prefix in [after, before) (µs); empty for one that isn't there."""
    found = sums(connection, scope, PREFIX_SUMS, after, before)
    workers = sums(connection, scope, WORKER_SUMS, after, before)
    groups = sums(connection, scope, GROUP_SUMS, after, before)
    computing = _where(found.columns, found.columns["action"] == Action.COMPUTE)
    for prefix in prefixes:
        own = np.array(store.groups_of(connection, scope.cluster.pk, prefix), np.int64)
        in_prefix = _where(groups.columns, np.isin(groups.columns["task_group"], own))
        ids = _largest(_by(in_prefix, "task_group", in_prefix["seconds"]))
        tasks = slowest(connection, scope, prefix, found.start, found.stop, MOST_SLOWEST)
        worker_count = _count_workers(workers, computing, prefix)
        of_prefix = _where(workers.columns, workers.columns["prefix"] == prefix)
        yield {
            **_bins(found),
            "slowest": [_slow_task(task, scope) for task in tasks],
            "workers": [] if worker_count is None else _shares(of_prefix)[:MOST_WORKERS],
            "worker_count": worker_count,
            "groups": _groups(connection, scope, groups, ids[:MOST_GROUPS]),
            "group_count": len(ids),
        }


def _bins(found: Sums) -> Item:
    return {
        "start": found.start / 1e6,
        "stop": found.stop / 1e6,
        "shortest": DURATION_UNIT,
        "bins_of_octave": BARS_OF_AN_OCTAVE,
    }


def _others(found: Sums, seconds: dict[int, float], ids: list[int], shown: list[int]) -> Item:
    total = sum(seconds.values())
    return {
        "others": len(ids) - len(shown),
        "others_seconds": max(0.0, total - sum(seconds[id] for id in shown)),
    }


def _where(columns: Columns, condition: npt.NDArray[np.bool_]) -> Columns:
    return {name: column[condition] for name, column in columns.items()}


def _by(columns: Columns, key: str, amounts: npt.NDArray[Any]) -> defaultdict[int, float]:
    found: defaultdict[int, float] = defaultdict(float)
    values, places = np.unique(columns[key], return_inverse=True)
    found.update(zip(values.tolist(), np.bincount(places, amounts, len(values)).tolist(), strict=True))
    return found


def _largest(seconds: dict[int, float]) -> list[int]:
    return sorted((id for id in seconds if id != REST), key=lambda id: (-seconds[id], id))


def _exact_quantiles(
    connection: psycopg.Connection, scope: Scope, found: Sums, by: Literal["prefix", "task_group"]
) -> dict[int, Item]:
    """Return QUANTILES of durations by id, from the spans themselves where these are few; else none."""
    if not found.has_few_rows or found.start >= found.stop:
        return {}
    read = store.duration_quantiles(
        connection, scope.cluster.pk, by, found.start, found.stop, list(QUANTILES.values())
    )
    return {id: dict(zip(QUANTILES, values, strict=True)) for id, values in read.items()}


def _durations(rows: Columns, exact: Item | None) -> Item:
    return {
        **durations_of(rows),
        **(exact or {}),
        "seconds": float(rows["seconds"].sum()),
        "nbytes": float(rows["nbytes"].sum()),
    }


def _waiting(rows: Columns) -> Item:
    return {
        name: float(rows["seconds"][np.isin(rows["action"], actions)].sum())
        for name, actions in WAITING.items()
    }


def _failures(rows: Columns) -> Item:
    is_retry = rows["retried"] == 1
    return {
        "errors": float(rows["count"][~is_retry].sum()),
        "retries": float(rows["count"][is_retry].sum()),
    }


def _count_workers(workers: Sums, computing: Columns, prefix: int) -> int | None:
    """Return how many workers computed a prefix; None where it is among the smallest, which are one."""
    of_prefix = workers.columns["prefix"] == prefix
    tasks = computing["count"][computing["prefix"] == prefix].sum()
    if not workers.is_complete and workers.columns["count"][of_prefix].sum() != tasks:
        return None
    return int(of_prefix.sum())


def _shares(rows: Columns) -> list[Item]:
    order = np.argsort(-rows["seconds"], kind="stable")
    columns = [rows[name][order].tolist() for name in ("worker", "count", "seconds", "longest")]
    return [
        {"worker": worker, "tasks": count, "seconds": seconds, "longest": longest}
        for worker, count, seconds, longest in zip(*columns, strict=True)
    ]


def _groups(connection: psycopg.Connection, scope: Scope, found: Sums, ids: Sequence[int]) -> list[Item]:
    names = {group.id: group for group in store.group_names(connection, scope.cluster.pk, ids)}
    erred = _by(found.columns, "task_group", found.columns["erred"])
    exact = _exact_quantiles(connection, scope, found, "task_group")
    return [
        {
            "group": id,
            "prefix": names[id].prefix,
            "name": scope.text(names[id].name),
            **_durations(_where(found.columns, found.columns["task_group"] == id), exact.get(id)),
            "erred": erred[id],
        }
        for id in ids
        if id in names
    ]


def _slow_task(task: store.SlowTask, scope: Scope) -> Item:
    start, stop = scope.clip_seconds(task.start, task.stop)
    return {
        "key": scope.text(task.key),
        "worker": task.worker,
        "lane": task.lane,
        "start": start,
        "stop": stop,
        "erred": task.erred,
    }
