"""What would have helped a run of a real cluster, and predictions over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from observatory.replay.scope import Scope
from observatory.store.connection import build_connection
from observatory.store.times import MAXIMUM_TIME
from observatory.why.what_if.answer import prediction, what_if
from observatory.why.what_if.change import Change
from observatory.why.what_if.recorded import reading
from observatory.why.what_if.schemas import Prediction, WhatIf
from observatory.why.window import TooManyTasks
from tests.support.observed_cluster import Observed, agent_server, observed
from tests.support.projects import World, world
from tests.support.response_schemas import assert_documented

__all__ = ["agent_server", "observed", "world"]
pytestmark = pytest.mark.django_db(transaction=True)


def answer_of(scope: Scope) -> dict[str, Any]:
    with build_connection() as connection:
        return what_if(connection, scope, 0, MAXIMUM_TIME)


def predicted(scope: Scope, change: Change) -> dict[str, Any]:
    with build_connection() as connection:
        return prediction(connection, scope, 0, MAXIMUM_TIME, change)


def test_a_run_is_simulated_with_what_its_agent_recorded(observed: Observed) -> None:
    found = answer_of(observed.scope)
    assert_documented(WhatIf, found)
    assert found["has_agent"]
    assert (found["workers"], found["threads"]) == (2, 2)
    assert found["simulated"] == pytest.approx(found["seconds"], rel=0.25)
    [as_it_was] = [size for size in found["sizes"] if size["workers"] == 2]
    assert as_it_was["seconds"] == pytest.approx(found["seconds"])
    saved = [found["seconds"] - change["seconds"] for change in found["changes"]]
    assert saved == sorted(saved, reverse=True)
    assert all(one > 0 for one in saved)


def test_slower_tasks_take_longer_and_faster_ones_do_not(observed: Observed) -> None:
    prefix = answer_of(observed.scope)["prefixes"][0]["prefix"]
    seconds = [
        predicted(observed.scope, Change(prefix=prefix, times_as_fast=factor))["seconds"]
        for factor in (0.25, 1.0, 4.0)
    ]
    assert seconds[0] > 1.1 * seconds[1]
    assert seconds[2] <= seconds[1]
    assert seconds[1] == pytest.approx(answer_of(observed.scope)["seconds"])


def test_a_prediction_far_outside_of_what_was_recorded_is_doubted(observed: Observed) -> None:
    found = predicted(observed.scope, Change(workers=100))
    assert_documented(Prediction, found)
    assert "That is over four times the workers that the window had." in found["doubts"]


def test_too_many_computations_are_refused_with_what_to_do(
    observed: Observed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_COMPUTATIONS", 10)
    with pytest.raises(TooManyTasks, match=r"over 10 computations, .* Choose a shorter one"):
        answer_of(observed.scope)


def test_without_an_agent_nothing_is_predicted(world: World) -> None:
    found = answer_of(Scope(world.ended))
    assert_documented(WhatIf, found)
    assert not found["has_agent"]
    assert (found["simulated"], found["changes"], found["sizes"]) == (None, [], [])
    assert predicted(Scope(world.ended), Change(workers=3))["seconds"] is None


@pytest.mark.parametrize(
    "query",
    ["workers=0", "workers=many", "threads=1000", "times_as_fast=0", "prefix=-1", "no_transfers=perhaps"],
)
def test_a_change_that_makes_no_sense_is_refused_by_name(
    world: World, observed: Observed, query: str
) -> None:
    client = world.client("viewer")
    answer = client.get(f"/api/v1/clusters/{observed.cluster.pk}/what-if/prediction?{query}")
    assert answer.status_code == 422
    assert query.split("=")[0] in answer.content.decode()
    path = f"/api/v1/clusters/{observed.cluster.pk}/what-if/prediction?workers=4&no_transfers=true"
    assert client.get(path).json()["seconds"] > 0
