"""Later graphs that read again what an earlier one had read, in tasks that are fused of more steps."""

from __future__ import annotations

import pytest

from tests.why.findings.kinds.test_kinds import assert_saves, first
from tests.why.findings.simulated import Simulated, Task

pytestmark = pytest.mark.django_db(transaction=True)

READ, STEP, TASKS = 0.8, 0.3, 24


def graph(name: str, seconds: float, tasks: int = TASKS, needs: str = "") -> list[Task]:
    return [
        Task(f"('{name}-{1:032x}', {place})", seconds, (f"('{needs}-{1:032x}', {place})",) if needs else ())
        for place in range(tasks)
    ]


def kinds(simulated: Simulated) -> list[str]:
    return [one["kind"] for one in simulated.findings()]


def test_a_step_that_is_fused_into_later_tasks_is_computed_again() -> None:
    seeded = Simulated(graph("read", READ)).then(graph("read-getitem-sum", READ + STEP))
    finding = first(seeded.findings(), "recomputed")
    assert_saves(finding, seeded, Simulated(graph("read", READ)).then(graph("getitem-sum", STEP)))
    assert finding["sentence"] == (
        "24 tasks of read-getitem-sum computed again what tasks of read had: these steps are fused into "
        "them, and took 800 ms by themselves."
    )
    assert "persist" in finding["advice"]


def test_tasks_that_need_what_was_read_do_not_read_it_again() -> None:
    tasks = [*graph("read", READ), *graph("read-getitem-sum", READ + STEP, needs="read")]
    assert "recomputed" not in kinds(Simulated(tasks))


@pytest.mark.parametrize(
    "later",
    [
        pytest.param(graph("read-getitem-sum", STEP), id="shorter than the step"),
        pytest.param(graph("read-getitem-sum", READ + STEP, TASKS - 1), id="another number of tasks"),
        pytest.param(graph("readings-sum", READ + STEP), id="another name"),
    ],
)
def test_tasks_that_cannot_have_the_step_in_them_repeat_nothing(later: list[Task]) -> None:
    assert "recomputed" not in kinds(Simulated(graph("read", READ)).then(later))


def test_tasks_of_one_graph_have_no_step_of_each_other() -> None:
    tasks = [*graph("read", READ), *graph("read-getitem-sum", READ + STEP)]
    assert "recomputed" not in kinds(Simulated(tasks))
