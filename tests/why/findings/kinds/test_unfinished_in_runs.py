"""Tasks that a run withdraws as it finishes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from observatory.replay.scope import Scope
from observatory.runs.models import Run
from observatory.store.connection import read_connection
from observatory.store.times import from_seconds
from tests.support.recorded_cluster import START
from tests.why.findings.simulated import Simulated, found_in, futures

pytestmark = pytest.mark.django_db(transaction=True)

WORKER, HUNG = "tcp://10.0.0.0:4000", "work-900"


def findings_of_run(stop: float) -> list[dict[str, Any]]:
    """A run finished after `stop` seconds, when its client cancelled a task that had not ended."""
    seeded = Simulated(futures(40, 1.0), workers=2, threads=2)
    seeded.transitions += [
        (START + 0.1, HUNG, "released", "waiting", "", "made-up"),
        (START + 0.101, HUNG, "waiting", "processing", WORKER, "made-up"),
        (START + stop - 0.1, HUNG, "processing", "released", WORKER, "cancelled"),
    ]
    seeded.makespan = stop
    cluster = seeded.record()
    times = {"start": from_seconds(START), "stop": from_seconds(START + stop)}
    run = Run.objects.create(
        cluster=cluster, name="nightly", origin="code", outcome=Run.Outcome.FINISHED, **times
    )
    with read_connection() as connection:
        return found_in(connection, replace(Scope(cluster), run=run.pk))


def test_one_for_which_the_run_waited_in_vain_is_told_although_the_run_finished() -> None:
    [finding] = [one for one in findings_of_run(20.0) if one["kind"] == "unfinished"]
    assert "where others took 1.00 s (median)" in finding["sentence"]


def test_one_that_ran_no_longer_than_others_was_not_needed() -> None:
    assert "unfinished" not in [one["kind"] for one in findings_of_run(10.9)]
