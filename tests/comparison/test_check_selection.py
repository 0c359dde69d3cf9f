"""The language that says what a run is checked against."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.http import Http404

from observatory.comparison.check.selection import Selection, SelectionError, parse_selection, select
from observatory.runs.models import Run
from tests.support.projects import World, make_run


@pytest.mark.parametrize(
    ("text", "selection"),
    [
        ("last:10", Selection(10)),
        (" last: 3 ", Selection(3)),
        ("last:10 of main", Selection(10, ("branch", "main"))),
        ("last:20 of feature/a b", Selection(20, ("branch", "feature/a b"))),
        ("last:1 of machine=m5.large", Selection(1, ("machine", "m5.large"))),
        ("run:41", Selection(ids=(41,))),
        ("run: 41, 42,41", Selection(ids=(41, 42))),
    ],
)
def test_what_is_selected(text: str, selection: Selection) -> None:
    assert parse_selection(text) == selection


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "selects no runs"),
        ("main", "“main” selects no runs: write “last:10”"),
        ("last:", "selects no runs"),
        ("last:ten of main", "“ten” is no number of runs"),
        ("last:0", "1 to 20 runs"),
        ("last:21 of main", "1 to 20 runs"),
        ("last:-1", "“-1” is no number"),
        ("last:١", "is no number of runs"),
        ("last:10 of", "selects no runs"),
        ("last:10 of  ", "selects no runs"),
        ("last:10 of =main", "needs a name"),
        ("last:10 of a\x00b", "unprintable"),
        (f"last:10 of {'x' * 201}", "longer than 200"),
        ("run:", "is no number of a run"),
        ("run:41;DROP TABLE", "is no number of a run"),
        ("run:0", "is no number of a run"),
        (f"run:{','.join(map(str, range(1, 30)))}", "names 29 runs"),
        ("last:10 " + "x" * 600, "characters"),
        ("last:" + "9" * 400, "is no number of runs"),
    ],
)
def test_what_cant_be_read_is_named(text: str, reason: str) -> None:
    with pytest.raises(SelectionError, match=reason.replace("(", r"\(")):
        parse_selection(text)


def made(world: World, count: int, **fields: object) -> list[Run]:
    runs = [make_run(world.ended, "etl", 10 * number) for number in range(count)]
    for run in runs:
        Run.objects.filter(pk=run.pk).update(**{"outcome": "finished", "tags": {"branch": "main"}, **fields})
    return [Run.objects.get(pk=run.pk) for run in runs]


def test_the_last_runs_of_a_branch_are_those_with_its_tag(world: World) -> None:
    *earlier, run = made(world, 6)
    Run.objects.filter(pk=earlier[4].pk).update(tags={"branch": "feature"})
    Run.objects.filter(pk=earlier[3].pk).update(outcome="erred")
    user = world.people["viewer"]
    chosen = select(user, run, parse_selection("last:2 of main"))
    assert [each.pk for each in chosen] == [earlier[2].pk, earlier[1].pk]
    assert select(user, run, parse_selection("last:2 of feature")) == [earlier[4]]
    assert select(user, run, parse_selection("last:2 of nowhere")) == []


def test_runs_after_it_and_the_run_itself_are_not_what_it_is_checked_against(world: World) -> None:
    runs = made(world, 3)
    user = world.people["viewer"]
    assert select(user, runs[1], parse_selection("last:20")) == [runs[0]]
    assert select(user, runs[1], parse_selection(f"run:{runs[1].pk},{runs[0].pk}")) == [runs[0]]


def test_runs_of_others_cant_be_selected(world: World) -> None:
    run, *_ = made(world, 1)
    other = make_run(world.elsewhere, "etl", 0)
    Run.objects.filter(pk=other.pk).update(outcome="finished", start=run.start - timedelta(hours=1))
    with pytest.raises(Http404):
        select(world.people["viewer"], run, parse_selection(f"run:{other.pk}"))
    assert select(world.people["viewer"], run, parse_selection("last:10")) == []
