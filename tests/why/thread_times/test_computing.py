"""What computing consisted of: waits for the GIL, and the functions that the profile saw."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from observatory.replay.scope import Section
from observatory.store.connection import read_connection
from observatory.store.queries.windows.thread_time import SeenFunction
from observatory.store.times import MAXIMUM_TIME
from observatory.why.findings.observed.samples import Samples
from observatory.why.intervals import Intervals
from observatory.why.thread_times.answer import thread_times
from observatory.why.thread_times.computing import MOST_FUNCTIONS, top_functions
from observatory.why.thread_times.gil import gil_waits
from observatory.wire.records import Action
from tests.support.observed_cluster import Observed, agent_server, observed
from tests.support.projects import world
from tests.why.made_records import computed, micro, recorded, whole, worker

__all__ = ["agent_server", "observed", "world"]


def test_of_two_tasks_that_contend_for_the_gil_each_waits_half_of_the_contention() -> None:
    records = recorded([worker(threads=2)], [computed(1, 0, 20), computed(2, 10, 20)])
    spans = records.spans.where(records.spans.action == Action.COMPUTE)
    samples = Samples(whole([1]), Intervals(micro([0]), micro([20])), np.array([0.4]))
    contended, waited = gil_waits(spans, samples)
    assert contended.tolist() == pytest.approx([8, 4])
    assert waited.tolist() == pytest.approx([2, 2])  # alone, a task waits for nobody


def test_functions_are_listed_by_their_samples_whatever_the_line() -> None:
    seen = [
        SeenFunction("solve", "a.py", 12, 1, 30),
        SeenFunction("load", "a.py", 5, 2, 25),
        SeenFunction("solve", "a.py", 10, 2, 10),
        *(SeenFunction(f"small {place}", "b.py", 1, None, 1) for place in range(20)),
    ]
    found = top_functions(seen)
    assert found[:2] == [("solve", "a.py", 10, 1, 40), ("load", "a.py", 5, 2, 25)]
    assert len(found) == MOST_FUNCTIONS


def computing(observed: Observed, **changes: Any) -> dict[str, Any]:
    with read_connection() as connection:
        found = thread_times(connection, replace(observed.scope, **changes), 0, MAXIMUM_TIME)
    assert sum(one["gil"] for one in found["prefixes"]) <= (found["computing"]["gil"] or 0) + 0.01
    answer: dict[str, Any] = found["computing"]
    return answer


def test_computing_of_a_real_run_has_the_functions_of_its_profile(observed: Observed) -> None:
    found = computing(observed)
    assert found["has_code"]
    counted = sum(row["count"] for row in observed.received.rows["profile"] if row["source"] == "task")
    assert found["samples"] == counted > 0
    shares = [one["share"] for one in found["functions"]]
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) <= 1 + 1e-9
    innermost = {row["stack"].rsplit("\n", 1)[-1].split("\t")[0] for row in observed.received.rows["profile"]}
    assert {one["name"] for one in found["functions"]} <= innermost
    assert found["gil"] is None or 0 <= found["gil"] <= found["seconds"]


def test_a_link_that_does_not_share_code_has_no_functions(observed: Observed) -> None:
    found = computing(observed, sections=frozenset(Section) - {Section.CODE})
    assert (found["has_code"], found["functions"], found["samples"]) == (False, [], 0)
