"""What the code of a run raised, where no task failed with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from observatory.replay.scope import Scope, Section
from observatory.runs.models import Run
from observatory.store.connection import read_connection
from observatory.store.times import MAXIMUM_TIME, from_seconds
from observatory.why.findings.answer import findings
from observatory.wire.event_kinds import RUN_RAISED
from observatory.wire.records import Event
from tests.support.recorded_cluster import START
from tests.why.findings.simulated import Simulated, futures

pytestmark = pytest.mark.django_db(transaction=True)

END = 60.0
"""seconds; its tasks end long before"""
PLACE = '  File "/home/ada/etl.py", line 12, in main\n    orders["total"]\n'


def scope_of_run(simulated: Simulated, exception: str, message: str, opened_at: float = 0.0) -> Scope:
    id = uuid4()
    detail = {
        "run": id.hex,
        "message": f"the code of a run raised {exception}: {message}",
        "exception_type": exception,
        "exception_message": message,
        "traceback": f"{PLACE}{exception}: {message}",
    }
    simulated.events.append(Event(START + END, RUN_RAISED, "", detail))
    cluster = simulated.record()
    start, stop = from_seconds(START + opened_at), from_seconds(START + END)
    run = Run.objects.create(
        cluster=cluster,
        name="etl",
        origin="code",
        outcome=Run.Outcome.ERRED,
        code_id=id,
        start=start,
        stop=stop,
    )
    window = {"start": round((START + opened_at) * 1e6), "stop": round((START + END) * 1e6)}
    return replace(Scope(cluster), run=run.pk, opened_as=id, **window)


def found(scope: Scope, before: int = MAXIMUM_TIME) -> list[dict[str, Any]]:
    with read_connection() as connection:
        answer = findings(connection, scope, 0, before)["findings"]
    return [one for one in answer if one["is_failure"]]


def test_it_is_said_with_the_line_of_the_users_code() -> None:
    [finding] = found(scope_of_run(Simulated(futures(8)), "KeyError", "'total'"))
    assert finding["kind"] == "run-exception"
    assert finding["sentence"] == "The code of the run raised KeyError: 'total' in main (etl.py:12)."
    assert finding["moments"] == [{"label": "it was raised", "time": START + END}]


def test_it_is_said_of_a_run_that_submitted_nothing() -> None:
    [finding] = found(scope_of_run(Simulated(futures(8)), "KeyError", "'total'", opened_at=50.0))
    assert finding["kind"] == "run-exception"


def test_code_that_waits_no_longer_for_tasks_is_not_the_cause() -> None:
    """As of `result(timeout=…)`: why the tasks did not end is."""
    simulated = Simulated(futures(8))
    simulated.transitions.append((START + 0.1, "work-900", "released", "waiting", "", "made-up"))
    simulated.makespan = END
    scope = scope_of_run(simulated, "TimeoutError", "timed out after 60 s.")
    assert "run-exception" not in [one["kind"] for one in found(scope)]


def test_what_a_task_had_failed_with_is_said_of_the_task() -> None:
    simulated = Simulated(futures(8))
    simulated.error(1, "work-3", "tcp://10.0.0.1:4000", "erred", "KeyError", "'total'")
    assert [one["kind"] for one in found(scope_of_run(simulated, "KeyError", "'total'"))] == ["failure"]


def test_a_part_of_the_run_before_it_does_not_have_it() -> None:
    scope = scope_of_run(Simulated(futures(8)), "KeyError", "'total'")
    assert found(scope, round((START + 0.4) * 1e6)) == []


def test_a_link_that_shows_no_tracebacks_says_that_something_was_raised() -> None:
    scope = scope_of_run(Simulated(futures(8)), "KeyError", "'total'")
    hidden = replace(scope, sections=frozenset(Section) - {Section.TRACEBACKS})
    [finding] = found(hidden)
    assert finding["sentence"] == "The code of the run raised an exception."
    assert "total" not in str(finding)
    assert "etl.py" not in str(finding)
