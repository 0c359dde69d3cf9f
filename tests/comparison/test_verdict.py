"""What is said first of a run against earlier ones: by how much it differs, since when, and what grew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from observatory.comparison.verdict import verdict_of
from observatory.runs.models import Run

THREADS = 4
FIRST = datetime(2026, 11, 1, 2, tzinfo=UTC)


def run(
    day: int,
    seconds: float,
    git: str = "aaa4",
    outcome: Run.Outcome = Run.Outcome.FINISHED,
    spent: Mapping[str, float] | None = None,
    prefixes: Sequence[Mapping[str, Any]] = (),
    **tags: str,
) -> Run:
    """A run that began on a day; `spent` is the time of its threads by action."""
    start = FIRST + timedelta(days=day)
    stop = None if outcome == Run.Outcome.RUNNING else start + timedelta(seconds=seconds)
    return Run(
        pk=day + 1,
        name="nightly etl",
        start=start,
        stop=stop,
        outcome=outcome,
        tags={"git": git, **tags} if git else tags,
        figures={"lane_seconds": THREADS * seconds, "seconds": spent or {"compute": 20.0, "transfer": 2.0}},
        contents={"prefixes": list(prefixes)},
    )


USUAL = [run(day, 10 + day / 50) for day in range(4)]
TRANSFERS = {"compute": 20.5, "transfer": 12.0}


def prefix(name: str, seconds: float, tasks: int) -> dict[str, Any]:
    return {"name": name, "seconds": seconds, "tasks": tasks}


def test_a_slower_run_is_told_with_the_change_since_which_it_is_so_and_what_grew() -> None:
    slower = run(4, 17.25, "bbb0", spent=TRANSFERS)
    assert verdict_of(slower, USUAL) == "72 % slower than usual since bbb0 (aaa4 before): transfers"


def test_the_runs_after_the_change_name_the_same_one() -> None:
    after = [run(4, 17.2, "bbb0", spent=TRANSFERS)]
    for day in range(5, 12):
        now = run(day, 17.25, f"bbb{day - 4}", spent=TRANSFERS)
        assert verdict_of(now, [*USUAL, *after]) == (
            "72 % slower than usual since bbb0 (aaa4 before): transfers"
        ), day
        after.append(now)


def test_a_run_that_is_as_usual_again_after_one_that_was_slower_is_not_told_as_slower() -> None:
    outlier = run(4, 17.2, "bbb0")
    assert verdict_of(run(5, 10.05, "bbb1"), [*USUAL, outlier]) == "as long as usual"


def test_a_single_slow_run_without_a_change_of_tags_names_none() -> None:
    assert verdict_of(run(4, 15.0, spent={"compute": 20.0, "transfer": 2.0}), USUAL) == (
        "50 % slower than usual: threads were idle"
    )


def test_without_tags_the_time_of_the_first_slow_run_is_told() -> None:
    usual = [run(day, 10.0, "") for day in range(4)]
    after = [run(4, 20.0, ""), run(5, 20.2, "")]
    told = verdict_of(run(6, 20.1, "", spent=TRANSFERS), [*usual, *after])
    assert told.startswith("101 % slower than usual since 2026-11-05 02:00 UTC: transfers")


def test_a_faster_run_and_one_of_many_times_the_duration_have_their_words() -> None:
    assert verdict_of(run(4, 5.0, "ccc1"), USUAL) == "50 % faster than usual since ccc1 (aaa4 before)"
    assert verdict_of(run(4, 50.0), USUAL).startswith("5.0 times as long as usual")


def test_computing_names_the_prefix_that_grew_and_whether_its_tasks_are_longer_or_more() -> None:
    usual = [run(day, 10.0, prefixes=[prefix("load", 12, 40), prefix("mix", 8, 40)]) for day in range(4)]
    spent = {"compute": 40.0, "transfer": 2.0}
    longer = run(4, 17.0, spent=spent, prefixes=[prefix("mix", 28, 40), prefix("load", 12, 40)])
    more = run(4, 17.0, spent=spent, prefixes=[prefix("mix", 28, 140), prefix("load", 12, 40)])
    new = run(4, 17.0, spent=spent, prefixes=[prefix("sort", 20, 4), prefix("mix", 8, 40)])
    told = [verdict_of(each, usual).split(": ")[1] for each in (longer, more, new)]
    assert told == ["computing mix", "more tasks of mix", "computing sort"]


def test_several_tags_that_changed_are_told_with_their_names_and_long_values_are_cut() -> None:
    told = verdict_of(run(4, 20.0, "b" * 300, dask="2026.8"), USUAL)
    assert f"since dask 2026.8 (none before), git {'b' * 39}… (aaa4 before)" in told


def test_a_tag_that_is_gone_is_told_as_such() -> None:
    assert verdict_of(run(4, 20.0, "", spent=TRANSFERS), USUAL) == (
        "99 % slower than usual without git (aaa4 before): transfers"
    )


def test_nothing_is_said_of_a_run_that_goes_on_or_was_lost_or_of_too_few_runs() -> None:
    assert verdict_of(run(4, 20.0, outcome=Run.Outcome.RUNNING), USUAL) == ""
    assert verdict_of(run(4, 20.0, outcome=Run.Outcome.LOST), USUAL) == ""
    assert verdict_of(run(2, 20.0), USUAL[:2]) == ""
    assert verdict_of(run(2, 20.0), []) == ""


def test_runs_without_figures_and_without_length_have_a_verdict_without_a_cause() -> None:
    usual = [run(day, 10.0) for day in range(4)]
    slower = run(4, 20.0)
    for each in (slower, *usual):
        each.figures, each.contents = {}, {}
    assert verdict_of(slower, usual) == "100 % slower than usual"
    assert verdict_of(run(4, 0.0), [run(day, 0.0) for day in range(4)]) == "as long as usual"


@pytest.mark.parametrize("tag", ["ci", "flow_run", "trace"])
def test_what_opened_a_run_changes_with_each_and_is_no_reason(tag: str) -> None:
    usual = [run(day, 10 + day / 50, **{tag: f"github {day}.1"}) for day in range(4)]
    slower = run(4, 17.25, "bbb0", spent=TRANSFERS, **{tag: "github 4.1"})
    assert verdict_of(slower, usual) == "72 % slower than usual since bbb0 (aaa4 before): transfers"
