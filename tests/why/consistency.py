"""Whether what is said of a window agrees: its threads, its critical path, its findings, and what if."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import psycopg

from observatory.replay.scope import Scope
from observatory.runs.other_work import other_work_in
from observatory.why.critical_path.path import CriticalPath
from observatory.why.findings.answer import findings
from observatory.why.intervals import Intervals
from observatory.why.reading import read_for_path
from observatory.why.records import Graph, Records
from observatory.why.thread_times.kinds import ThreadKind
from observatory.why.thread_times.thread_time import Accountant, ThreadTime
from observatory.why.what_if.answer import what_if
from observatory.why.what_if.recorded.reading import MOST_COMPUTATIONS
from observatory.wire.records import Action

MOST = 0.02
"""of the window"""
MOST_SIMULATED = 0.1
"""of the window, by which a simulation may save more than there was to save: tasks change places in it"""


def inconsistencies(records: Records, graph: Graph) -> dict[ThreadKind, tuple[float, float]]:
    """The kinds of which the path has more than the time in which any thread was in it: both in seconds.

    While there were threads.
    """
    threads = Accountant(records).account()
    lives = Intervals.of(
        np.array([one.begun for one in records.workers]), np.array([one.stop for one in records.workers])
    ).union()
    on_path: Counter[ThreadKind] = Counter()
    for piece in CriticalPath(records, graph).pieces():
        times = lives.clipped(piece.start, piece.stop)
        on_path[piece.kind] += int((times.stop - times.start).sum())
    found = {}
    for kind, length in on_path.items():
        most = _seconds_of_any_thread(threads, kind)
        if kind is ThreadKind.NOTHING:  # whatever a worker that starts waits for, the cluster has no task
            most += _seconds_of_any_thread(threads, ThreadKind.STARTING)
        if length / 1e6 > most + MOST * (records.stop - records.start) / 1e6:
            found[kind] = (length / 1e6, most)
    return found


def contradictions(connection: psycopg.Connection, scope: Scope, start: int, stop: int) -> list[str]:
    """What the answers about [start, stop) (microseconds) say against each other."""
    others = other_work_in(connection, scope, stop)
    records, graph = read_for_path(connection, scope.cluster.pk, start, stop, others)
    found = [
        f"{kind.value}: {path:.2f} s on the path, {threads:.2f} s in the threads"
        for kind, (path, threads) in inconsistencies(records, graph).items()
    ]
    found += _of_findings(connection, scope, records)
    if np.count_nonzero(records.spans.action == Action.COMPUTE) <= MOST_COMPUTATIONS:
        found += _of_simulations(connection, scope, records)
    return found


def _seconds_of_any_thread(threads: ThreadTime, kind: ThreadKind) -> float:
    """Seconds in which at least one thread was in the kind."""
    steps = threads.taken()[kind]
    return int(np.diff(steps.edges)[steps.values > 1e-9].sum()) / 1e6 if len(steps.edges) else 0.0


def _of_findings(connection: psycopg.Connection, scope: Scope, records: Records) -> Iterator[str]:
    """Costs over the time that there was."""
    window = (records.stop - records.start) / 1e6
    threads = sum(one.threads for one in records.workers) * window
    for one in findings(connection, scope, records.start, records.stop)["findings"]:
        # what workers could have done that came after the window is no time of its threads
        is_of_threads = one["kind"] != "late-workers"
        is_more = is_of_threads and one["thread_seconds"] > threads * (1 + MOST)
        if one["wall_seconds"] > window * (1 + MOST) or is_more:
            yield f"{one['wall_seconds']:.2f} s, {one['thread_seconds']:.2f} s of threads: {one['sentence']}"
        least, most = one["least_wall_seconds"], one["most_wall_seconds"]
        if least is not None and not 0 <= least <= one["wall_seconds"] <= most <= window * (1 + MOST):
            yield f"{one['wall_seconds']:.2f} s is not from {least:.2f} to {most:.2f} s: {one['sentence']}"


def _of_simulations(connection: psycopg.Connection, scope: Scope, records: Records) -> Iterator[str]:
    """Savings over the time in which any thread did what a change makes shorter."""
    found = what_if(connection, scope, records.start, records.stop)
    threads = Accountant(records).account()
    for one in found["sizes"]:
        is_as_it_was = one["workers"] == found["workers"]
        if is_as_it_was and abs(one["seconds"] - found["seconds"]) > MOST * found["seconds"]:
            yield f"as it was, the window takes {one['seconds']:.2f} s, and took {found['seconds']:.2f} s"
    moved = [one["seconds"] for one in found["changes"] if one["no_transfers"]]
    for one in findings(connection, scope, records.start, records.stop)["findings"]:
        is_simulated = one["kind"] == "transfers" and one["least_wall_seconds"] is not None
        saved = found["seconds"] - min([*moved, found["seconds"]])
        if is_simulated and moved and abs(one["wall_seconds"] - saved) > MOST * found["seconds"]:
            yield f"data costs {one['wall_seconds']:.2f} s, and without moving it {saved:.2f} s are saved"
    for change in found["changes"]:
        if change["prefix"] is not None:
            is_it = (records.spans.action == Action.COMPUTE) & (records.spans.prefix == change["prefix"])
            times = records.spans.times.where(is_it).clipped(records.start, records.stop).union()
            most = int((times.stop - times.start).sum()) / 1e6 * (1 - 1 / change["times_as_fast"])
        elif change["no_transfers"]:
            most = _seconds_of_any_thread(threads, ThreadKind.TRANSFER)
        else:
            continue
        saved = found["seconds"] - change["seconds"]
        if saved > most + MOST_SIMULATED * found["seconds"]:
            yield f"{change} saves {saved:.2f} s of at most {most:.2f} s"
