"""First tasks on each worker that took longer: they set something up, or had more of what later ones do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from observatory.replay.scope import Scope
from observatory.store.connection import read_connection
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from tests.support.recorded_cluster import START
from tests.why.findings.kinds.test_kinds import assert_saves
from tests.why.findings.simulated import Simulated, found_in, futures

pytestmark = pytest.mark.django_db(transaction=True)

THREADS, LONG, SHORT = 8, 3.0, 0.4
WORK = "month\tetl.py\t6\nsum\tetl.py\t9"
IMPORT = "month\tetl.py\t5\nimport_module\timportlib\t126"


def kinds(first: str, later: str) -> list[str]:
    """Of tasks of which the longest come first, where samples saw these stacks in them."""
    tasks = futures(64, SHORT)
    cluster = Simulated(
        [replace(task, seconds=LONG if place < THREADS else SHORT) for place, task in enumerate(tasks)]
    ).record()
    worker = "tcp://10.0.0.0:4000"
    profile = [(START + at, worker, "task", "work", first if at < LONG else later, 90) for at in range(1, 6)]
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, committed=START + 30, rows={"profile": profile}))
    with read_connection() as connection:
        return [one["kind"] for one in found_in(connection, Scope(cluster))]


def test_first_tasks_that_did_something_else_are_first_uses() -> None:
    assert kinds(IMPORT, WORK) == ["first-use"]


def test_a_lock_that_first_tasks_wait_for_is_held_while_something_is_set_up() -> None:
    tasks = futures(64, SHORT)
    seeded = Simulated(
        [replace(task, seconds=LONG if place < THREADS else SHORT) for place, task in enumerate(tasks)]
    )
    for worker in range(seeded.workers):
        seeded.sample("observatory_worker_task_cpu_percent", 100.0, 0, seeded.makespan, worker=worker)
        for first, last, count in ((0, LONG, 1), (LONG + 0.5, seeded.makespan, 0)):
            waits = {"in": "lock"}
            seeded.sample("observatory_worker_task_waits", count, first, last, worker=worker, **waits)
    [finding] = seeded.findings()
    assert finding["kind"] == "first-use"
    assert_saves(finding, seeded, Simulated(tasks))


def test_first_tasks_that_did_what_later_ones_do_only_had_more_of_it() -> None:
    assert "first-use" not in kinds(WORK, WORK)
