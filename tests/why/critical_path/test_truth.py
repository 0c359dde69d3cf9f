"""The critical path of recordings of which it is known, by clocks that are wrong by up to 50 ms."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from observatory.why.clocks import corrected
from observatory.why.critical_path.path import CriticalPath
from observatory.why.critical_path.predecessors import NONE
from observatory.why.records import Graph, Records, Transitions
from observatory.why.thread_times.kinds import ThreadKind
from tests.why.consistency import inconsistencies
from tests.why.generated import (
    Clock,
    Generated,
    chain,
    constant,
    corrected_by_heartbeats,
    drifting,
    on_one_thread,
    pipelines,
    random_graph,
    rounds,
    tree,
)
from tests.why.made_records import SECOND, graph

SHAPES = {
    "rounds": rounds(),
    "rounds of a client that thinks": rounds(20, 0.2, thinking=0.15),
    "wide rounds": rounds(15, 0.3, width=4),
    "wider rounds than there are threads": rounds(8, 0.25, width=10),
    "chain": chain(),
    "tree": tree(),
    "pipelines": pipelines(),
    "pipelines that take turns": pipelines(5, 12, 0.12),
    "short tasks": on_one_thread(),
}
CLOCKS: dict[str, list[Clock]] = {
    "right": [],
    "wrong by 50 ms": [constant(0.05), constant(-0.05), constant(0.03)],
    "wrong by 50 ms the other way": [constant(-0.05), constant(0.05), constant(-0.02)],
    "corrected by heartbeats": [corrected_by_heartbeats(seed, 0.05) for seed in range(3)],
    "corrected by other heartbeats": [corrected_by_heartbeats(seed, 0.05) for seed in range(3, 6)],
    "drifting": [drifting(0.0005), drifting(-0.0005), drifting(0.0003)],
}
MOST = 0.02
"""of the time from the first task to the last, by which the path may be off"""


def seconds_of(records: Records, edges: Graph) -> dict[ThreadKind, float]:
    found: Counter[ThreadKind] = Counter()
    for piece in CriticalPath(corrected(records), edges).pieces():
        if piece.place != NONE:
            found[piece.kind] += piece.stop - piece.start
    return {kind: length / SECOND for kind, length in found.items()}


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("clocks", CLOCKS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_path_has_the_computing_that_it_has_by_construction(
    shape: str, clocks: str, workers: int
) -> None:
    run = Generated(SHAPES[shape], workers, threads=2)
    records, edges = run.record(CLOCKS[clocks][:workers])
    found = seconds_of(records, edges)
    assert found[ThreadKind.COMPUTING] == pytest.approx(run.computing, abs=MOST * (run.stop - 1))
    assert inconsistencies(corrected(records), edges) == {}


@pytest.mark.parametrize("clocks", CLOCKS)
def test_thirty_rounds_of_a_fifth_of_a_second_have_six_seconds_of_computing(clocks: str) -> None:
    records, edges = Generated(rounds(30, 0.2), 2, threads=2).record(CLOCKS[clocks][:2])
    assert seconds_of(records, edges)[ThreadKind.COMPUTING] == pytest.approx(6.0, abs=0.05)


def tasks_of(records: Records, edges: Graph) -> list[int]:
    """The tasks on the path, the last one first."""
    path = CriticalPath(records, edges)
    places = [piece.place for piece in path.pieces() if piece.kind is ThreadKind.COMPUTING]
    return path.computing.task[places][::-1].tolist()


def random_run(seed: int, overhead: float) -> Generated:
    return Generated(random_graph(seed), 1 + seed % 4, 1 + seed % 3, overhead)


@pytest.mark.parametrize("overhead", [0, 0.02])
@pytest.mark.parametrize("seed", range(20))
def test_by_clocks_that_are_right_the_path_of_a_random_graph_has_the_tasks_that_it_has_by_construction(
    seed: int, overhead: float
) -> None:
    run = random_run(seed, overhead)
    records, edges = run.record()
    assert tasks_of(records, edges) == run.path
    assert inconsistencies(records, edges) == {}


@pytest.mark.parametrize("seed", range(20))
def test_by_clocks_that_are_wrong_the_path_of_a_random_graph_has_the_computing_that_it_has_by_construction(
    seed: int,
) -> None:
    run = random_run(seed, (0, 0.002)[seed % 2])
    clocks = [(corrected_by_heartbeats(seed * 9 + one, 0.05), drifting(0.0005))[one % 2] for one in range(4)]
    records, edges = run.record(clocks[: run.workers])
    found = seconds_of(records, edges)
    assert found[ThreadKind.COMPUTING] == pytest.approx(run.computing, abs=MOST * (run.stop - 1))
    assert inconsistencies(corrected(records), edges) == {}


ENDPOINTS_MISS = 0.07
"""of the time from the first task to the last; these tell neither what tasks need nor when they were sent"""


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("clocks", CLOCKS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_path_of_stock_endpoints_has_nearly_the_computing_that_it_has_by_construction(
    shape: str, clocks: str, workers: int
) -> None:
    run = Generated(SHAPES[shape], workers, threads=2)
    records = corrected(replace(run.record(CLOCKS[clocks][:workers])[0], transitions=Transitions.none()))
    found = seconds_of(records, graph())
    assert found[ThreadKind.COMPUTING] == pytest.approx(run.computing, abs=ENDPOINTS_MISS * (run.stop - 1))
    assert inconsistencies(records, graph()) == {}
