"""A client that waits for all tasks of a round before it submits the next one."""

from __future__ import annotations

from uuid import uuid4

import numpy as np
import pytest

from observatory.replay.scope import Scope
from observatory.store.connection import read_connection
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.client_code.submitted_code import Frame, code_of_frames
from tests.support.recorded_cluster import START
from tests.why.findings.kinds.test_kinds import assert_saves, first
from tests.why.findings.simulated import Simulated, Task, found_in

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 8
SECONDS = [0.5, 0.55, 0.8, 0.9, 1.2, 1.6, 1.65, 1.9]


def of_round(number: int, seconds: list[float] = SECONDS) -> list[Task]:
    """In another order each time: no worker has the long ones."""
    in_order = np.random.default_rng(number).permutation(seconds).tolist()
    return [Task(f"part-{number}{place}", one) for place, one in enumerate(in_order)]


def in_rounds(seconds: list[float] = SECONDS, fetches: bool = False, waits: bool = True) -> Simulated:
    made = Simulated(of_round(1, seconds))
    run, ends = uuid4().hex, []
    for number in range(2, ROUNDS + 1):
        ends.append(made.makespan)
        made.then(of_round(number, seconds))
    made.activities = [(0.0, made.makespan, run, "code")]
    if waits:
        made.activities.append((0.0, made.makespan, run, "waiting"))
    if fetches:
        made.activities += [(end, end + 0.02, run, "gathering") for end in ends]
    return made


def at_once() -> Simulated:
    return Simulated([task for number in range(1, ROUNDS + 1) for task in of_round(number)])


def test_threads_that_wait_for_the_end_of_a_round_could_have_the_next_one() -> None:
    seeded = in_rounds()
    found = seeded.findings()
    assert [one["sentence"] for one in found[1:]] == []
    finding = first(found, "client")
    assert finding["sentence"].startswith(
        "The client waited for all 8 tasks of a round before it submitted the next, 7 times: for "
    )
    assert finding["facts"][0] == {"label": "rounds", "value": "8"}
    assert finding["advice"].startswith("Submit all rounds at once")
    assert "distributed.diagnostics.computations.nframes: 1" in finding["advice"], "no line is known"
    assert_saves(finding, seeded, at_once())


def test_the_line_that_submits_them_is_named_where_dask_reports_code() -> None:
    cluster = in_rounds().record()
    code = code_of_frames([Frame("for one in days:\n    submit(one)", "/home/anna/etl.py", 5, (6,))])
    row = (START + 2, "computation", "client", code, [], {}, [])
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, committed=START + 30, rows={"computation": [row]}))
    with read_connection() as connection:
        finding = first(found_in(connection, Scope(cluster)), "client")
    assert "before it submitted the next (/home/anna/etl.py:6), 7 times" in finding["sentence"]
    assert "nframes" not in finding["advice"]


def test_a_client_that_fetches_each_round_may_need_it_for_the_next_one() -> None:
    finding = first(in_rounds(fetches=True).findings(), "client")
    assert finding["advice"].startswith("Where a round does not need the results of the one before: submit")


def test_a_client_that_waits_for_each_task_uses_one_thread() -> None:
    seeded = in_rounds([1.0])
    finding = first(seeded.findings(), "client")
    assert finding["sentence"].startswith("The client waited for each task before it submitted the next, 7 ")
    assert "few-tasks" not in [one["kind"] for one in seeded.findings()]


def test_rounds_of_equal_tasks_lose_nothing() -> None:
    assert in_rounds([1.0] * 8).findings() == []


def test_a_straggler_of_each_round_is_the_finding() -> None:
    kinds = [one["kind"] for one in in_rounds([0.5] * 31 + [4.0]).findings()]
    assert kinds == ["stragglers"]


def test_where_it_is_not_known_that_the_client_waited_the_rounds_are_narrow_stages() -> None:
    assert "client" not in [one["kind"] for one in in_rounds(waits=False).findings()]
