"""Which findings of a run are new, gone, or cost more or less than those of another run."""

from __future__ import annotations

import pytest

from observatory.comparison.findings import compared_findings
from observatory.comparison.schemas import Comparison
from observatory.runs.models import Run
from tests.comparison.made_runs import make_run
from tests.support.projects import World
from tests.support.projects import make_run as empty_run
from tests.support.response_schemas import assert_documented
from tests.support.stored_findings import finding, keep


@pytest.fixture
def runs(world: World) -> tuple[Run, Run]:
    return empty_run(world.ended, "a", 20), empty_run(world.ended, "b", 0)


def verdicts(a: Run, b: Run) -> list[tuple[str, str]]:
    return [(pair["kind"], pair["verdict"]) for pair in compared_findings(a, b)["pairs"]]


def test_a_finding_is_new_gone_or_in_both_at_another_cost(runs: tuple[Run, Run]) -> None:
    a, b = runs
    keep(a, finding("gil", 30), finding("idle", 10), finding("transfers", 10), finding("stragglers", 10))
    keep(b, finding("idle", 20), finding("worker-died", 5), finding("transfers", 9), finding("stragglers", 5))
    assert verdicts(a, b) == [
        ("gil", "new"),
        ("idle", "less"),
        ("transfers", "same"),
        ("stragglers", "more"),
        ("worker-died", "gone"),
    ]
    [new, *_, gone] = compared_findings(a, b)["pairs"]
    assert (new["a"]["sentence"], new["b"]) == ("gil of all cost 30.", None)
    assert (gone["a"], gone["b"]["thread_seconds"]) == (None, 5)


def test_findings_about_prefixes_of_other_names_are_not_the_same(runs: tuple[Run, Run]) -> None:
    a, b = runs
    keep(a, finding("stragglers", 9, "load"), finding("stragglers", 8, "sum", "mean"), finding("gil", 3, "x"))
    keep(b, finding("stragglers", 8, "mean"), finding("stragglers", 9, "merge"), finding("gil", 3))
    assert verdicts(a, b) == [
        ("stragglers", "new"),
        ("stragglers", "same"),
        ("gil", "same"),
        ("stragglers", "gone"),
    ]


def test_costs_that_differ_by_less_than_a_second_are_the_same(runs: tuple[Run, Run]) -> None:
    a, b = runs
    keep(a, finding("failure", 0.9)), keep(b, finding("failure", 0))
    assert verdicts(a, b) == [("failure", "same")]


def test_a_run_that_nobody_looked_at_is_not_compared(runs: tuple[Run, Run]) -> None:
    a, b = runs
    keep(a, finding("gil", 30))
    assert compared_findings(a, b) == {"a": "found", "b": None, "pairs": []}
    keep(b, state="too-large")
    b.refresh_from_db()
    assert compared_findings(a, b) == {"a": "found", "b": "too-large", "pairs": []}


@pytest.mark.django_db(transaction=True)
def test_the_answer_of_the_api_is_as_documented(world: World) -> None:
    a, b = (make_run(world.ended, at, {"load": 0.2}) for at in (100.0, 0.0))
    keep(a, finding("gil", 30)), keep(b)
    found = world.client("viewer").get(f"/api/v1/runs/compare?a={a.pk}&b={b.pk}").json()
    assert_documented(Comparison, found)
    assert [pair["verdict"] for pair in found["findings"]["pairs"]] == ["new"]
