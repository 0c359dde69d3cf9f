"""Tasks that keep their thread while they wait for tasks that they submitted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from observatory.why.findings.observed.tasks.nested_tasks import nested_waits
from observatory.why.records import Records
from observatory.why.what_if.change import Predictor
from observatory.why.what_if.recorded.plan import plan_of
from observatory.why.what_if.recorded.rates import AT_ONCE
from observatory.why.what_if.without import Without
from tests.why.made_records import SECOND, computed, graph, life, recorded, worker

REPORT, PARTS = 0, 4
WAITING = "report\treport.py\t3\ngather\t/lib/distributed/client.py\t2000\nwait\tthreading.py\t300"
WRITING = "report\treport.py\t4\nsubmit\t/lib/distributed/client.py\t1000"


def a_report_beside_its_parts(gathers_for: float = 0.0) -> Records:
    """It submits four parts of a second at once, which the other thread computes; then it fetches them."""
    spans = [computed(part, part - 0.5, part + 0.5) for part in range(1, PARTS + 1)]
    report = computed(REPORT, 0, PARTS + 0.5 + gathers_for)
    transitions = [row for one in spans for row in life(one[1], 0.5, one[4], begun=0.5)]
    return recorded([worker(1, 2)], [report, *spans], [*life(REPORT, 0, report[4]), *transitions])


def waited(records: Records, stacks: Sequence[tuple[str, int]]) -> list[tuple[float, float]]:
    computing = records.spans
    found = nested_waits(computing, records.transitions, lambda prefixes: stacks)
    times = zip(found.start.tolist(), found.stop.tolist(), computing.task.tolist(), strict=True)
    return [(start / SECOND, stop / SECOND) for start, stop, task in times if task == REPORT and stop > start]


def test_a_task_waits_from_the_first_task_that_it_submits_until_its_end() -> None:
    assert waited(a_report_beside_its_parts(), [(WAITING, 40), (WRITING, 2)]) == [(0.5, 4.5)]


@pytest.mark.parametrize("function", ["wait", "result", "__next__"])
def test_a_task_waits_whatever_it_waits_with(function: str) -> None:
    """`wait(futures)`, a result, or `as_completed`."""
    stack = f"report\treport.py\t3\n{function}\t/lib/distributed/client.py\t5560\nwait\tthreading.py\t300"
    assert waited(a_report_beside_its_parts(), [(stack, 40)]) == [(0.5, 4.5)]


def test_a_task_that_the_profile_saw_elsewhere_does_not_wait() -> None:
    assert waited(a_report_beside_its_parts(), [(WAITING, 2), (WRITING, 40)]) == []
    assert waited(a_report_beside_its_parts(), []) == []


@pytest.mark.parametrize("gathers_for", [0.0, 0.4])
def test_without_such_a_wait_its_thread_computes_its_parts(gathers_for: float) -> None:
    """However long it takes to fetch them, as on a busy machine."""
    records = a_report_beside_its_parts(gathers_for)
    made = Predictor(records, plan_of(records, graph()), AT_ONCE)
    seceded = np.where(records.spans.task == REPORT, SECOND // 2, records.spans.seceded)
    saved = made.observed - made.without(Without(seceded=seceded)).seconds
    assert saved == pytest.approx(2, abs=0.05), "four parts on two threads instead of one"
