"""The graph of a window's groups: their edges, what they computed, their tasks' states over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg

from observatory.replay.scope import Scope
from observatory.replay.windows.sums import BinnedSums, Sums, binned_sums, sums
from observatory.store.queries.sums.group_sums import GROUP_SUMS
from observatory.store.queries.sums.state_sums import CREATED, STATE_SUMS
from observatory.store.queries.sums.sum_layer import REST, Columns
from observatory.store.queries.windows.prefixes import group_names
from observatory.store.queries.windows.tasks.graph import group_edges
from observatory.wire.records import TASK_STATES

MOST_GROUPS = 2_500
MOST_EDGES = 20_000
MOST_CHANGES = 40_000
"""rows of an answer that say when something changed; with more its bins become wider"""
RELEASED, FORGOTTEN = TASK_STATES.index("released"), TASK_STATES.index("forgotten")
WAITED = {
    "waiting": (TASK_STATES.index("waiting"),),
    "queued": (TASK_STATES.index("queued"), TASK_STATES.index("no-worker")),
    "processing": (TASK_STATES.index("processing"),),
}

Item = dict[str, Any]
Table = npt.NDArray[np.float64]
"""a row for each group, a column for each state and for CREATED"""


def group_graph_of(connection: psycopg.Connection, scope: Scope, after: int, before: int) -> Item:
    """Return the API's graph of the groups of [after, before) (microseconds)."""
    work = sums(connection, scope, GROUP_SUMS, after, before)
    start, stop = work.start, work.stop
    # the states at the window's start come from all that was before, of which a link shows nothing
    past = scope if scope.is_public else Scope(scope.cluster)
    earlier = sums(connection, past, STATE_SUMS, 0, start)
    changed = sums(connection, past, STATE_SUMS, start, stop)
    ids = _ids(work.columns, earlier.columns, changed.columns)
    shown = ids[:MOST_GROUPS]
    names = {group.id: group for group in group_names(connection, scope.cluster.pk, shown)}
    shown = sorted(id for id in shown if id in names)
    has_states = bool(len(changed.columns["count"]) or len(earlier.columns["count"]))
    figures = _figures(work.columns, sums(connection, scope, GROUP_SUMS, 0, start).columns, shown)
    # earlier runs had groups of the same names: what was forgotten by then is not of this one
    over = earlier if start <= scope.start else sums(connection, past, STATE_SUMS, 0, scope.start)
    states = _states(earlier, changed, over, shown) if has_states else [_NO_STATES] * len(shown)
    edges = group_edges(connection, scope.cluster.pk, shown, stop, MOST_EDGES + 1)
    return {
        "start": start / 1e6,
        "stop": stop / 1e6,
        "groups": [
            {"group": id, "prefix": names[id].prefix, "name": scope.text(names[id].name), **one, **other}
            for id, one, other in zip(shown, figures, states, strict=True)
        ],
        "others": len(ids) - len(shown),
        "edges": _as_columns(("task", "needed", "edges"), sorted(edges[:MOST_EDGES])),
        "has_all_edges": len(edges) <= MOST_EDGES,
        "changes": _binned(
            binned_sums(connection, past, STATE_SUMS, start, stop), shown, ("state",), ("change",)
        ),
        "work": _binned(
            binned_sums(connection, scope, GROUP_SUMS, start, stop), shown, (), ("count", "seconds")
        ),
        "has_states": has_states,
        "is_complete": earlier.is_complete and changed.is_complete,
    }


_NO_STATES: Item = {"tasks": None, "before": [], **dict.fromkeys(WAITED)}


def _ids(work: Columns, earlier: Columns, changed: Columns) -> list[int]:
    """Return the groups that computed or changed, or had tasks to do or results; the longest first."""
    is_held = (earlier["state"] != RELEASED) & (earlier["state"] < FORGOTTEN) & (earlier["change"] > 0)
    found = np.unique([*work["task_group"], *changed["task_group"], *earlier["task_group"][is_held]])
    seconds = _total(work["task_group"], work["seconds"], found)
    ids = [int(id) for id in found[np.argsort(-seconds, kind="stable")]]
    return [id for id in ids if id != REST]


def _figures(columns: Columns, earlier: Columns, ids: Sequence[int]) -> list[Item]:
    groups = columns["task_group"]
    longest = np.zeros(len(ids))
    at, is_shown = _places(groups, ids)
    np.maximum.at(longest, at, columns["longest"][is_shown])
    names = {"computed": "count", "seconds": "seconds", "erred": "erred", "nbytes": "nbytes"}
    totals = {name: _total(groups, columns[column], ids).tolist() for name, column in names.items()}
    before = _total(earlier["task_group"], earlier["count"], ids).tolist()
    return [
        {
            **{name: values[place] for name, values in totals.items()},
            "longest": float(longest[place]) if totals["computed"][place] else None,
            "computed_before": before[place],
        }
        for place in range(len(ids))
    ]


def _states(earlier: Sums, changed: Sums, over: Sums, ids: Sequence[int]) -> list[Item]:
    """Return each group's tasks by state at the start, and how long they were in states of waiting.

    Tasks that are forgotten in `over` are left out.
    """
    left_out = _table(over.columns, "change", ids)[:, FORGOTTEN]
    before = _table(earlier.columns, "change", ids)
    after = before + _table(changed.columns, "change", ids)
    # how long tasks have been in a state by then: those in it until now, less when they came
    moments = _table(changed.columns, "moment", ids)
    seconds = after * (changed.stop / 1e6) - before * (changed.start / 1e6) - moments
    return [
        {
            "tasks": max(0.0, float(after[place, CREATED] - left_out[place])),
            "before": _counts(before[place], left_out[place]),
            **{
                name: max(0.0, float(seconds[place, list(columns)].sum())) for name, columns in WAITED.items()
            },
        }
        for place in range(len(ids))
    ]


def _counts(row: npt.NDArray[np.float64], left_out: float) -> list[float]:
    """Return the tasks in each state; a graph's tasks are released at first, without a transition."""
    counts = row[:CREATED].copy()
    counts[RELEASED] += row[CREATED]
    counts[FORGOTTEN] -= left_out
    found: list[float] = counts.tolist()
    return found


def _table(columns: Columns, name: str, ids: Sequence[int]) -> Table:
    table = np.zeros((len(ids), CREATED + 1))
    at, is_shown = _places(columns["task_group"], ids)
    np.add.at(table, (at, columns["state"][is_shown]), columns[name][is_shown])
    return table


def _binned(found: BinnedSums, ids: Sequence[int], keys: tuple[str, ...], amounts: tuple[str, ...]) -> Item:
    """Return the columns of an answer: amounts by group, bin and other keys."""
    at, is_shown = _places(found.columns["task_group"], ids)
    rows = {name: column[is_shown] for name, column in found.columns.items()} | {"group": at}
    if "state" in keys:  # what a graph brings is released at first
        rows["state"] = np.where(rows["state"] == CREATED, RELEASED, rows["state"])
    merged = _merge(rows, ("group", "bin", *keys), amounts)
    while len(merged["bin"]) > MOST_CHANGES and found.bins > 1:
        found = replace(found, width=found.width * 2, bins=-(-found.bins // 2))
        merged = _merge({**merged, "bin": merged["bin"] // 2}, ("group", "bin", *keys), amounts)
    words = {"count": "tasks"}
    return {
        "start": found.first / 1e6,
        "width": found.width / 1e6,
        "bins": found.bins,
        **{words.get(name, name): column.tolist() for name, column in merged.items()},
    }


def _merge(rows: Columns, keys: tuple[str, ...], amounts: tuple[str, ...]) -> Columns:
    """Add up the amounts of rows with equal keys, and leave out those that are nothing."""
    found, at = np.unique(np.stack([rows[key] for key in keys]), axis=1, return_inverse=True)
    totals = [np.round(np.bincount(at.ravel(), rows[name], found.shape[1]), 6) for name in amounts]
    is_some = np.any(np.stack(totals) != 0, axis=0)
    return {
        **{key: found[place][is_some] for place, key in enumerate(keys)},
        **{name: total[is_some] for name, total in zip(amounts, totals, strict=True)},
    }


def _places(groups: npt.NDArray[Any], ids: Sequence[int]) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return the positions in `ids` of the groups that are there, and which are."""
    order = np.argsort(np.asarray(ids, np.int64), kind="stable")
    known = np.asarray(ids, np.int64)[order]
    at = np.searchsorted(known, groups)
    is_shown = np.isin(groups, known)
    return order[at[is_shown]], is_shown


def _total(groups: npt.NDArray[Any], amounts: npt.NDArray[Any], ids: Sequence[int] | Any) -> Table:
    at, is_shown = _places(groups, ids)
    return np.bincount(at, amounts[is_shown], len(ids)).astype(np.float64)


def _as_columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Item:
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}
