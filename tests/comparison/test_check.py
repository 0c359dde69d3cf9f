"""What a check says of a run, from the store and over the API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.utils.timezone import now

from observatory.comparison import run_summary
from observatory.comparison.check.check import Limits, check
from observatory.comparison.schemas import CheckAnswer
from observatory.runs.models import Run
from observatory.runs.refresh import refresh_figures
from observatory.store.maintenance.retention import delete_cluster
from tests.comparison.made_runs import make_run
from tests.support.projects import HOSTILE, World
from tests.support.response_schemas import assert_documented
from tests.support.run_exceptions import raise_in
from tests.support.stored_findings import finding, keep

USUAL = {"load": 0.2, "clean": 0.3}


@pytest.fixture(autouse=True)
def nothing_is_left(transactional_db: None, world: World) -> Iterator[None]:
    yield
    delete_cluster(world.ended.pk)


def made(
    world: World, at: float, seconds: Mapping[str, float] = USUAL, memory: float = 1.0, branch: str = "main"
) -> Run:
    run = make_run(world.ended, at, seconds, tasks=30, memory=memory, tags={"branch": branch})
    refresh_figures(run)
    return run


def history(world: World, count: int = 5) -> list[Run]:
    """The newest first; they differ by some percent."""
    return [
        made(world, 100 * number, {name: each * (1 + 0.01 * (number % 3)) for name, each in USUAL.items()})
        for number in range(count)
    ][::-1]


def criteria(found: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["verdict"] for each in found["criteria"]}


def test_a_run_like_those_before_it_is_fine(world: World, connection: psycopg.Connection) -> None:
    earlier = history(world)
    found = check(connection, made(world, 1000), earlier, Limits())
    assert found["verdict"] == "fine"
    assert criteria(found) == {
        "outcome": "fine", "duration": "fine", "pace": "fine", "prefixes": "fine", "memory": "fine",
        "errors": "fine",
    }  # fmt: skip
    assert [each["id"] for each in found["earlier"]] == [each.pk for each in earlier]
    assert found["headline"] == ""


def test_a_slower_run_is_worse_and_the_prefix_that_grew_is_named(
    world: World, connection: psycopg.Connection
) -> None:
    earlier = history(world)
    run = made(world, 1000, {**USUAL, "clean": 0.45})
    found = check(connection, run, earlier, Limits())
    assert (found["verdict"], criteria(found)["duration"]) == ("worse", "worse")
    [slower] = found["slower"]
    assert (slower["name"], slower["ratio"]) == ("clean", pytest.approx(1.49, abs=0.03))
    assert "slower than usual" in found["headline"]
    assert "clean" in found["headline"]
    allowed = check(connection, run, earlier, Limits(slower=0.6))
    assert allowed["verdict"] == "fine"
    unchecked = check(connection, run, earlier, Limits(slower=None))
    assert criteria(unchecked)["duration"] == criteria(unchecked)["prefixes"] == "skipped"


def test_a_run_of_which_all_tasks_take_longer_is_worse_however_much_durations_vary(
    world: World, connection: psycopg.Connection
) -> None:
    """The tasks of each run wait: only how long they take tells it from the others."""
    usual = {"load": 0.2, "clean": 0.3, "store": 0.25}
    earlier = []
    for number, length in enumerate((9, 14, 8, 16, 10, 13)):
        run = made(world, 100 * number, usual)
        run.stop = run.start + timedelta(seconds=2 * length)
        earlier.insert(0, run)
    run = made(world, 1000, {name: each * 1.2 for name, each in usual.items()})
    run.stop = run.start + timedelta(seconds=28)
    found = check(connection, run, earlier, Limits())
    assert (found["verdict"], found["slower"]) == ("worse", [])
    assert criteria(found)["duration"] == "unclear"
    [pace] = [each for each in found["criteria"] if each["name"] == "pace"]
    assert (pace["verdict"], pace["value"]) == ("worse", pytest.approx(1.2, abs=0.01))
    assert pace["sentence"].startswith("Tasks take 20 % longer than in 6 runs, the median of 3 prefixes;")
    assert check(connection, run, earlier, Limits(slower=0.3))["verdict"] == "fine"
    assert criteria(check(connection, run, earlier[:2], Limits()))["pace"] == "unclear"


def test_more_memory_is_worse(world: World, connection: psycopg.Connection) -> None:
    earlier = history(world)
    found = check(connection, made(world, 1000, memory=2), earlier, Limits())
    assert (found["verdict"], criteria(found)["memory"]) == ("worse", "worse")
    [memory] = [each for each in found["criteria"] if each["name"] == "memory"]
    assert memory["unit"] == "bytes"
    assert "GiB" in memory["sentence"]
    assert criteria(check(connection, made(world, 1200, memory=2), earlier, Limits(memory=None)))[
        "memory"
    ] == ("skipped")


def test_failed_tasks_are_worse_than_none_unless_some_may_fail(
    world: World, connection: psycopg.Connection
) -> None:
    earlier = history(world)
    run = made(world, 1000)
    run.errors, run.outcome = 2, Run.Outcome.ERRED
    assert criteria(check(connection, run, earlier, Limits()))["errors"] == "worse"
    assert check(connection, run, earlier, Limits(errors=2))["verdict"] == "fine"
    run.tags = {"exception": "KeyError"}
    assert criteria(check(connection, run, earlier, Limits(errors=2)))["outcome"] == "worse"
    assert check(connection, run, earlier, Limits(errors=None))["verdict"] == "fine"


def test_what_the_runs_own_code_raised_is_told_with_message_place_and_traceback(
    world: World, connection: psycopg.Connection
) -> None:
    earlier = history(world)
    run = made(world, 1000)
    traceback = f'  File "/srv/etl.py", line 12, in report\n    orders["total"]\nKeyError: {HOSTILE}\n'
    raise_in(run, "KeyError", HOSTILE, traceback)
    found = check(connection, run, earlier, Limits())
    outcome = found["criteria"][0]
    assert (outcome["verdict"], outcome["sentence"]) == (
        "worse",
        f"Its code raised KeyError: {HOSTILE} in report (etl.py:12).",
    )
    assert (found["raised"]["file"], found["raised"]["traceback"]) == ("etl.py", traceback)
    assert check(connection, run, earlier, Limits(errors=None))["verdict"] == "fine"
    ended_by_signal = made(world, 1200)
    ended_by_signal.tags["exception"] = "SIGTERM"
    said = check(connection, ended_by_signal, earlier, Limits())
    assert (said["criteria"][0]["sentence"], said["raised"]) == ("Its process got SIGTERM.", None)


def test_a_lost_cluster_is_worse_and_an_end_that_nobody_saw_is_unclear(
    world: World, connection: psycopg.Connection
) -> None:
    earlier = history(world)
    run = made(world, 1000)
    run.outcome = Run.Outcome.LOST
    assert check(connection, run, earlier, Limits())["verdict"] == "worse"
    run.outcome = Run.Outcome.UNSEEN
    assert check(connection, run, earlier, Limits())["verdict"] == "unclear"


def test_without_earlier_runs_nothing_can_be_told_but_errors(
    world: World, connection: psycopg.Connection
) -> None:
    run = made(world, 1000)
    found = check(connection, run, [], Limits())
    assert found["verdict"] == "unclear"
    assert criteria(found)["errors"] == "fine"
    run.errors = 1
    assert check(connection, run, [], Limits())["verdict"] == "worse"


def test_two_runs_dont_say_how_much_runs_vary(world: World, connection: psycopg.Connection) -> None:
    earlier = history(world, 2)
    longer = made(world, 1000, dict.fromkeys(USUAL, 0.3))
    found = check(connection, longer, earlier, Limits())
    assert criteria(found)["duration"] == "unclear"
    assert "can't say how much runs vary" in found["criteria"][1]["sentence"]


def test_runs_before_a_lasting_change_are_left_out(world: World, connection: psycopg.Connection) -> None:
    faster = [
        made(world, 100 * number, {name: each / 2 for name, each in USUAL.items()}) for number in range(4)
    ]
    since = [made(world, 500 + 100 * number) for number in range(4)]
    found = check(connection, made(world, 1000), [*faster, *since][::-1], Limits())
    assert (found["verdict"], found["left_out"]) == ("fine", 4)
    assert {each["id"] for each in found["earlier"]} == {each.pk for each in since}


def test_findings_that_no_earlier_run_has_are_new(world: World, connection: psycopg.Connection) -> None:
    first, second, unseen = history(world, 3)
    run = made(world, 1000)
    keep(first, finding("idle", 5)), keep(second, finding("transfers", 5))
    keep(run, finding("gil", 9, sentence=HOSTILE), finding("idle", 5), finding("transfers", 5))
    found = check(connection, run, [first, second, unseen], Limits())["findings"]
    assert [each["kind"] for each in found["new"]] == ["gil"]
    assert (found["state"], found["compared"]) == ("found", 2)
    assert check(connection, run, [unseen], Limits())["findings"]["new"] == []
    nothing = keep(made(world, 1200))
    assert check(connection, nothing, [keep(unseen)], Limits())["findings"] == {
        "state": "none", "compared": 1, "new": [],
    }  # fmt: skip


def test_a_run_too_large_to_compare_its_tasks_is_checked_by_its_duration(
    world: World, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = history(world)
    run = made(world, 1000)
    monkeypatch.setattr(run_summary, "MOST_TASKS", 10)
    found = check(connection, run, earlier, Limits())
    assert (found["verdict"], criteria(found)["prefixes"]) == ("fine", "skipped")


def answer(world: World, run: Run, role: str = "viewer", **parameters: object) -> Any:
    return world.client(role).get(f"/api/v1/runs/{run.pk}/check", parameters)


def test_the_api_says_what_a_run_lacks_until_it_can_be_checked(world: World) -> None:
    history(world)
    run = made(world, 1000)
    Run.objects.filter(pk=run.pk).update(stop=None, outcome="running")
    assert answer(world, run).json() == {"missing": "end", "check": None}
    Run.objects.filter(pk=run.pk).update(stop=run.stop, outcome="finished", origin="code", counted=None)
    assert answer(world, run).json()["missing"] == "figures"
    assert run.stop is not None
    Run.objects.filter(pk=run.pk).update(counted=run.stop + timedelta(seconds=1))
    assert answer(world, run).json()["missing"] == "figures"
    Run.objects.filter(pk=run.pk).update(counted=now())
    assert answer(world, run).json()["missing"] == "findings"
    keep(run)
    found = answer(world, run, against="last:3 of main", slower="0.2").json()
    assert found["missing"] == ""
    assert (found["check"]["verdict"], len(found["check"]["earlier"])) == ("fine", 3)
    assert_documented(CheckAnswer, found)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"against": "last:99"}, "1 to 20 runs"),
        ({"against": "nonsense"}, "selects no runs"),
        ({"slower": "much"}, "slower"),
        ({"slower": "-1"}, "slower"),
        ({"slower": "nan"}, "slower"),
        ({"errors": "1.5"}, "errors"),
    ],
)
def test_the_api_names_what_is_wrong(world: World, parameters: dict[str, str], reason: str) -> None:
    run = made(world, 1000)
    found = answer(world, run, **parameters)
    assert found.status_code == 422
    assert reason in found.content.decode()


def test_a_run_of_others_is_not_found(world: World) -> None:
    run = made(world, 1000)
    assert answer(world, run, "outsider").status_code == 404
