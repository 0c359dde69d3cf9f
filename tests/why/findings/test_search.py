"""The order of findings, and that no time is counted in two of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from observatory.why.findings.finding import Cost, Finding, FindingKind
from observatory.why.findings.kinds import finding_kinds
from observatory.why.findings.search import find
from observatory.why.thread_times.kinds import KINDS, ThreadKind
from observatory.why.what_if.doubt import Predicted
from observatory.why.what_if.without import Without

OTHERS, READY, FAILED = ThreadKind.OTHERS, ThreadKind.READY, ThreadKind.FAILED


def kind(seconds: float, *counts: ThreadKind, without: Without | None = None, **more: Any) -> FindingKind:
    found = [Finding(f"It costs {seconds} s.", Cost(seconds, seconds / 4), without=without)]
    return FindingKind("title", "advice", "url", lambda evidence: found, counts=counts, **more)


def costs(times: dict[ThreadKind, float], **kinds: FindingKind) -> list[tuple[str, float]]:
    """Of a window with these seconds of threads; one of them is worth a finding."""
    evidence: Any = SimpleNamespace(
        waits=SimpleNamespace(seconds=dict.fromkeys(KINDS, 0.0) | times),
        is_worth=lambda cost: cost.thread_seconds >= 1,
        simulation=None,
    )
    found = find(evidence, kinds)
    assert all(one.cost.wall_seconds == pytest.approx(one.cost.thread_seconds / 4) for _, one in found)
    return [(name, one.cost.thread_seconds) for name, one in found]


def test_causes_that_take_other_times_cost_what_each_took() -> None:
    assert costs({OTHERS: 10, READY: 8}, a=kind(8, READY), b=kind(10, OTHERS)) == [("b", 10), ("a", 8)]


def test_the_most_costly_has_the_time_and_the_next_one_the_rest() -> None:
    found = costs({OTHERS: 10, READY: 8}, a=kind(9, OTHERS), b=kind(12, READY, OTHERS), c=kind(2, OTHERS))
    assert found == [("b", 12), ("a", 6)], "8 s are those of b's own kind; nothing is left for c"


def test_a_cause_that_has_less_left_comes_after_those_that_cost_more() -> None:
    found = costs({OTHERS: 10, READY: 8}, a=kind(10, OTHERS), b=kind(9, OTHERS, READY), c=kind(8.5, FAILED))
    assert found == [("a", 10), ("b", 8)]


def test_what_made_a_run_fail_is_listed_whatever_is_left_for_it() -> None:
    found = costs({OTHERS: 5}, a=kind(5, OTHERS), b=kind(3, OTHERS, is_failure=True), c=kind(0, OTHERS))
    assert found == [("b", 3), ("a", 2), ("c", 0)]


def test_threads_that_were_not_there_are_in_no_kind_of_time() -> None:
    assert costs({OTHERS: 5}, a=kind(50)) == [("a", 50)]


def test_a_reduced_finding_says_how_much_others_have_as_well() -> None:
    kinds = {"a": kind(5, OTHERS), "b": kind(4, OTHERS, READY)}
    evidence: Any = SimpleNamespace(
        waits=SimpleNamespace(seconds=dict.fromkeys(KINDS, 0.0) | {OTHERS: 5.0, READY: 1.0}),
        is_worth=lambda cost: True,
    )
    (_, whole), (_, reduced) = find(evidence, kinds)
    assert whole.facts == ()
    [fact] = reduced.facts
    assert (fact.label, fact.value) == ("time that other findings have as well", "3.00 s")


@pytest.mark.parametrize(("saved", "expected"), [(0.0, ["effect"]), (5.0, ["cause"])])
def test_a_cause_without_which_the_window_takes_as_long_explains_nothing(
    saved: float, expected: list[str]
) -> None:
    """`saved`: by a simulation of the window without it."""

    def without(asked: Without) -> Predicted:
        seconds = 20 - (saved if asked.late else 0.0) - (6.0 if asked.client else 0.0)
        return Predicted(seconds, seconds, seconds)

    evidence: Any = SimpleNamespace(
        waits=SimpleNamespace(seconds=dict.fromkeys(KINDS, 0.0)),
        is_worth=lambda cost: True,
        simulation=SimpleNamespace(plan=range(10), observed=20.0, without=without),
    )
    kinds = {
        "cause": kind(30, without=Without(late=True)),
        "effect": kind(20, without=Without(client=True), explained_by=("cause",)),
    }
    assert [name for name, _ in find(evidence, kinds)] == expected


def test_each_kind_of_findings_says_of_which_time_its_cost_consists() -> None:
    without = {name for name, one in finding_kinds().items() if not one.counts}
    assert without == {"clocks", "versions", "late-workers", "long-restart", "run-exception", "run-stopped"}
