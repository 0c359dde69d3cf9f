"""What the HTML report has of instants: states, figures of the workers, and the largest results in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from observatory.replay.results import results_of
from observatory.replay.scope import Scope
from observatory.replay.state import progress_before, state_at
from observatory.replay.worker_figures import FIGURES, worker_figures
from observatory.store.connection import build_connection, read_connection
from observatory.store.queries.timeline import snapshot

FEWEST_INSTANTS, MOST_INSTANTS, ROWS_OF_INSTANTS = 20, 300, 60_000
"""that the file has states of; how many depends on the rows of one, which are of workers and prefixes"""
MOST_INSTANTS_OF_RESULTS, MOST_RESULTS = 60, 50
"""the largest results, at fewer instants: each has a key"""
DIGITS = 4
"""of a worker's figure, which a table shows with three"""

Item = dict[str, Any]


def instants_of(known: Item, rows: int) -> list[int]:
    """Return instants (microseconds) at equal distances, from the beginning of the run to its end."""
    first, last = round(known["first"] * 1e6), round(max(known["last"], known["ended"]) * 1e6)
    count = min(max(ROWS_OF_INSTANTS // max(rows, 1), FEWEST_INSTANTS), MOST_INSTANTS)
    return [first + (last - first) * number // (count - 1) for number in range(count)]


def states_and_figures(
    scope: Scope, instants: Sequence[int], progress: Callable[[float], None]
) -> tuple[Item, Item]:
    """Return the state at each instant; and a worker's figures as columns, with a value for each instant."""
    states = []
    columns: dict[int, dict[str, list[float | None]]] = {}
    with read_connection() as connection, snapshot(connection):
        before = progress_before(connection, scope)
    for number, at in enumerate(instants):
        with read_connection() as connection, snapshot(connection):
            states.append(state_at(connection, scope, at, before))
            found = worker_figures(connection, scope, at)
        for worker in found:
            of_worker = columns.setdefault(worker["id"], {})
            for name in FIGURES.values():
                if worker[name] is not None:
                    column = of_worker.setdefault(name, [None] * len(instants))
                    column[number] = float(f"{worker[name]:.{DIGITS}g}")
        progress((number + 1) / len(instants))
    times = [at / 1e6 for at in instants]
    workers = [{"id": id, "figures": figures} for id, figures in columns.items()]
    return {"instants": times, "states": states}, {"instants": times, "workers": workers}


def largest_results(scope: Scope, instants: Sequence[int], goes_on: Callable[[], None]) -> Item:
    """Return the answers on results in memory at some of the instants, with the largest of each."""
    chosen = instants[:: math.ceil(len(instants) / MOST_INSTANTS_OF_RESULTS)]
    answers = []
    with build_connection() as connection:
        for at in chosen:
            goes_on()
            answer = results_of(connection, scope, at)
            answers.append({**answer, "results": answer["results"][:MOST_RESULTS]})
    return {"instants": [at / 1e6 for at in chosen], "answers": answers}
