"""Graphs that do again what the one before them did: in tasks of other keys, which take longer each time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.why.findings.kinds.test_kinds import assert_saves, first
from tests.why.findings.simulated import Simulated, Task

pytestmark = pytest.mark.django_db(transaction=True)

STEP, GRAPHS, TASKS = 0.7, 5, 8


def graph(number: int, seconds: float, tasks: int = TASKS, needs: Sequence[Task] = ()) -> list[Task]:
    """Each has its own token, as those of arrays have. `needs`: of the task at the same place."""
    keys = [need.key for need in needs]
    return [
        Task(f"('field-{number:032x}', {place})", seconds, tuple(keys[place : place + 1]))
        for place in range(tasks)
    ]


def one_after_another(
    seconds: Callable[[int], float], tasks: Callable[[int], int] = lambda _: TASKS
) -> Simulated:
    found = Simulated(graph(1, seconds(1), tasks(1)))
    for number in range(2, GRAPHS + 1):
        found = found.then(graph(number, seconds(number), tasks(number)))
    return found


def kinds(simulated: Simulated) -> list[str]:
    return [one["kind"] for one in simulated.findings()]


def test_graphs_that_begin_from_the_beginning_cost_what_those_before_had_done() -> None:
    seeded = one_after_another(lambda number: number * STEP)
    finding = first(seeded.findings(), "recomputed")
    assert_saves(finding, seeded, one_after_another(lambda _: STEP))
    assert finding["sentence"] == (
        "Each of 5 graphs computed again what the one before it had: their 8 tasks of field needed no result "
        "of it, and took 700 ms in the first graph and 3.50 s in the last, nearly as much longer each time."
    )
    assert "persist" in finding["advice"]


def test_graphs_that_go_on_from_the_results_of_those_before_repeat_nothing() -> None:
    tasks = [graph(1, STEP)]
    for number in range(2, GRAPHS + 1):
        tasks.append(graph(number, number * STEP, needs=tasks[-1]))
    assert "recomputed" not in kinds(Simulated([task for one in tasks for task in one]))


@pytest.mark.parametrize(
    ("seconds", "tasks"),
    [
        pytest.param(lambda _: 2 * STEP, lambda _: TASKS, id="as long each time"),
        pytest.param(lambda number: STEP + (number == GRAPHS) * 3, lambda _: TASKS, id="one takes longer"),
        pytest.param(lambda number: (2, 5, 3, 4, 6)[number - 1] * 0.4, lambda _: TASKS, id="in no order"),
        pytest.param(lambda number: number * STEP, lambda number: TASKS + number, id="of more tasks"),
    ],
)
def test_other_graphs_of_one_name_repeat_nothing(
    seconds: Callable[[int], float], tasks: Callable[[int], int]
) -> None:
    assert "recomputed" not in kinds(one_after_another(seconds, tasks))
