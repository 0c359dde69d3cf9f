"""Errors of all runs by exception and place in the code."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from observatory.clusters.models import Cluster
from observatory.runs.errors.counting import count_errors_of_run
from observatory.runs.errors.headline import headline
from observatory.runs.errors.places import Place, place_of
from observatory.runs.models import Run, RunError
from observatory.runs.refresh import refresh_figures
from observatory.runs.usage.counting import count_runs
from observatory.store.connection import connect
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.times import from_seconds
from tests.support.projects import HOSTILE, World
from tests.support.recorded_cluster import GIB, START, Recorded
from tests.support.run_exceptions import raise_in
from tests.support.stored_findings import finding, keep

AGENT = '  File "/src/observatory/agent/client_activities.py", line 87, in timed\n'
CYTHON = '  File "msgpack/_unpacker.pyx", line 194, in msgpack._cmsgpack.unpackb\n'
LIBRARY = '  File "/usr/lib/python3.11/site-packages/pandas/io.py", line 9, in read\n    raise error\n'


def traceback(line: int, folder: str = "/home/ada", library: bool = True) -> str:
    own = f'  File "{folder}/etl.py", line {line}, in load\n    return read(path)\n'
    first = '  File "/home/ada/main.py", line 1, in main\n    load(path)\n'
    return first + own + (LIBRARY if library else "")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (traceback(31), Place("load", "etl.py", 31)),
        (traceback(7, "C:\\jobs").replace("/etl", "\\etl"), Place("load", "etl.py", 7)),
        (LIBRARY, Place("read", "io.py", 9)),
        (traceback(31) + AGENT, Place("load", "etl.py", 31)),
        (traceback(31) + CYTHON, Place("load", "etl.py", 31)),
        ("", Place()),
        ("nothing of a frame", Place()),
        (f'  File "{HOSTILE}", line 3, in <lambda>\n', Place("<lambda>", HOSTILE, 3)),
        ('  File "x", line 99999999999999, in f\n', Place()),
    ],
)
def test_the_place_is_the_last_line_of_ones_own_code(text: str, place: Place) -> None:
    assert place_of(text) == place


def test_a_hostile_traceback_is_read_in_linear_time() -> None:
    assert place_of('  File "' * 100_000) == Place()
    assert place_of(" " * 500_000) == Place()


def kind(**fields: Any) -> dict[str, Any]:
    known = {
        "exception_type": "ValueError",
        "prefix": "load",
        "function": "load",
        "file": "etl.py",
        "line": 31,
    }
    return {**known, "killed": 0, "deaths": {}, **fields}


@pytest.mark.parametrize(
    ("fields", "count", "runs", "sentence"),
    [
        ({}, 14, 2, "ValueError in load (etl.py:31): 14 errors in 2 runs"),
        ({"file": "", "exception_type": ""}, 1, 1, "Error in load: 1 error in 1 run"),
        (
            {"killed": 1, "deaths": {"workers": 2, "by_memory": 2, "share": 0.951}},
            1,
            1,
            "Both workers were killed by their nanny at 95 % of memory while running load: 1 error in 1 run",
        ),
        (
            {"killed": 1, "deaths": {"workers": 1, "by_memory": 1, "share": None}},
            1,
            1,
            "The worker was killed by its nanny because of memory while running load: 1 error in 1 run",
        ),
        (
            {"killed": 3, "deaths": {"workers": 4, "by_memory": 1, "share": 0.97}},
            3,
            1,
            "All 4 workers died, 1 killed by their nanny at 97 % of memory "
            "while running load: 3 errors in 1 run",
        ),
        (
            {"killed": 3, "deaths": {"workers": 3, "by_memory": 0, "share": None}},
            3,
            2,
            "All 3 workers died while running load: 3 errors in 2 runs",
        ),
        ({"killed": 1, "file": "", "deaths": {}}, 1, 1, "ValueError in load: 1 error in 1 run"),
    ],
)
def test_a_kind_is_one_sentence(fields: dict[str, Any], count: int, runs: int, sentence: str) -> None:
    assert headline(kind(**fields), count, runs, 3 * 86_400) == f"{sentence}, first seen 3 d ago"


@pytest.fixture
def erring(transactional_db: None, world: World) -> Iterator[Recorded]:
    """Two runs of “evening”: `load` fails three times in the first, and twice at another line in the second,
    where two workers are killed, too. A third run, of another project's cluster, fails at the same place."""
    with connect() as connection, connect() as other:
        recorded = Recorded(connection, world.ended.pk)
        recorded.error(1, "load-1", "ValueError", "no", outcome="retried", traceback=traceback(31))
        recorded.error(2, "load-1", "ValueError", "no again", traceback=traceback(31))
        recorded.error(3, "load-2", "ValueError", "the last of the first", traceback=traceback(31, "/tmp/x"))
        for number in (1, 2):
            address = f"tcp://10.0.0.{number}:4000"
            detail = {"reason": "memory", "memory": 3.8 * GIB}
            events = [(52.5, "worker-restarted", detail)]
            recorded.worker(address, f"w{number}", died=52.0, events=events)
        recorded.error(51, "load-3", "ValueError", "of a release", traceback=traceback(35))
        recorded.error(52, "load-4", "ValueError", HOSTILE, traceback=traceback(35, library=False))
        recorded.error(
            53,
            "load_blob-1",
            "KilledWorker",
            "died twice",
            outcome="killed",
            workers=["tcp://10.0.0.1:4000", "tcp://10.0.0.2:4000"],
            prefix="load_blob",
            group="load_blob-1",
        )
        elsewhere = Recorded(other, world.elsewhere.pk)
        elsewhere.error(2, "load-9", "ValueError", "of beta", traceback=traceback(31))
        yield recorded
    delete_cluster(world.ended.pk)
    delete_cluster(world.elsewhere.pk)


def make_run(cluster: Cluster, start: float, stop: float, name: str, **fields: Any) -> Run:
    known = {"origin": Run.Origin.CODE, "outcome": Run.Outcome.ERRED, "counted": timezone.now(), **fields}
    window = {"start": from_seconds(START + start), "stop": from_seconds(START + stop)}
    return Run.objects.create(cluster=cluster, name=name, **window, **known)


@pytest.fixture
def runs(world: World, erring: Recorded) -> list[Run]:
    made = [make_run(world.ended, 0, 10, "first"), make_run(world.ended, 50, 60, "second")]
    made.append(make_run(world.elsewhere, 0, 10, "secret of beta"))
    count_runs()
    return made


def page(world: World, query: str = "", role: str = "viewer") -> str:
    answer = world.client(role).get(f"/errors/?days={query}")
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_errors_of_a_run_are_kept_by_exception_and_place(runs: list[Run]) -> None:
    first, second, _ = runs
    [kept] = first.error_kinds.all()
    assert (kept.exception_type, kept.place, kept.line) == ("ValueError", "etl.py:load", 31)
    assert (kept.count, kept.retried, kept.killed, kept.message) == (3, 1, 0, "the last of the first")
    assert (kept.last - kept.first).total_seconds() == 2
    killed, failed = second.error_kinds.order_by("count")
    assert (killed.place, killed.killed) == ("prefix load_blob", 1)
    assert killed.deaths == {"workers": 2, "by_memory": 2, "share": pytest.approx(0.95)}
    assert (failed.place, failed.line, failed.count) == ("etl.py:load", 35, 2)


def raised_in(run: Run, exception_type: str, message: str, text: str = "") -> None:
    """Store that the run's code raised it, and count its errors."""
    raise_in(run, exception_type, message, text)
    count_errors_of_run(run)


def test_what_the_code_of_a_run_raised_is_one_of_its_kinds(world: World, runs: list[Run]) -> None:
    run = runs[0]
    raised_in(run, "TypeError", f"no {HOSTILE}", traceback(31))
    kept = run.error_kinds.get(prefix="")
    assert (kept.exception_type, kept.place, kept.count) == ("TypeError", "etl.py:load", 1)
    page = world.client("owner").get("/errors/?days=")
    assert HOSTILE not in page.content.decode()
    assert f'href="/runs/{run.pk}/"' in page.content.decode()
    of_kind = world.client("owner").get("/errors/?days=&type=TypeError&place=etl.py:load").content.decode()
    assert "code of the run" in of_kind
    [item] = [
        item
        for item in world.client("owner").get("/api/v1/errors").json()["items"]
        if item["exception_type"] == "TypeError"
    ]
    assert item["headline"].startswith("TypeError in load (etl.py:31): 1 error in 1 run, first seen")


def test_a_tasks_exception_that_gather_raises_again_is_counted_once(runs: list[Run]) -> None:
    run = runs[0]
    raised_in(run, "ValueError", "'the last of the first'")
    assert not run.error_kinds.filter(prefix="").exists()
    raised_in(run, "ValueError", "an earlier one", traceback(99))
    assert not run.error_kinds.filter(prefix="").exists(), "it ends at the same place"
    raised_in(run, "ValueError", "")
    assert run.error_kinds.get(prefix="").place == "code of the run"


def test_the_page_groups_errors_over_runs_with_a_headline(world: World, runs: list[Run]) -> None:
    shown = page(world)
    killed = (
        "Both workers were killed by their nanny at 95 % of memory while running load_blob: 1 error in 1 run"
    )
    assert killed in shown
    assert "ValueError in load (etl.py:35): 5 errors in 2 runs" in shown
    assert shown.index("Both workers") < shown.index("ValueError in load"), "the latest is first"
    assert HOSTILE not in shown
    assert "secret of beta" not in shown
    assert "6 errors in 3 runs" in page(world, role="superuser")


def test_a_kind_leads_to_its_runs_tasks_and_moments(world: World, runs: list[Run]) -> None:
    first, second, _ = runs
    shown = page(world, "&type=ValueError&place=etl.py:load")
    assert shown.index(f'href="/runs/{second.pk}/"') < shown.index(f'href="/runs/{first.pk}/"')
    assert f'href="/clusters/{world.ended.pk}/errors/{first.error_kinds.get().last_id}/"' in shown
    assert f"/clusters/{world.ended.pk}/errors/?type=ValueError&amp;prefix=load&amp;from=" in shown
    assert "No matching errors" in page(world, "&type=ValueError&place=nowhere")


def test_a_kind_has_what_was_found_about_its_tasks_besides_that_they_failed(
    world: World, runs: list[Run]
) -> None:
    _, second, _ = runs
    keep(
        second,
        finding("failure", 9, "load_blob", sentence="1 task of load_blob failed."),
        finding("stragglers", 5, "load_blob", "load", sentence="Some were slow."),
        finding("worker-died", 4, "load_blob", "load", sentence=f"2 workers died of {HOSTILE}."),
        finding("failure", 3, "load", sentence="1 task of load failed with KeyError.", exception="KeyError"),
    )
    shown = page(world)
    assert f'Found in its last run: <a href="/runs/{second.pk}/?tab=why">2 workers died of' in shown
    assert HOSTILE not in shown
    assert shown.count("Found in its last run") == 1, "nothing was found about the other kind's tasks"
    of_kind = page(world, "&type=KilledWorker&place=prefix+load_blob")
    assert "1 task of load_blob failed." in of_kind
    of_other = page(world, "&type=ValueError&place=etl.py:load")
    for sentence in ("load_blob failed", "Some were slow", "2 workers died", "KeyError"):
        assert sentence not in of_other, "none is about a ValueError of load"


def api(world: World, query: str = "", role: str = "viewer") -> Any:
    return world.client(role).get(f"/api/v1/errors{query}").json()


def test_the_api_has_the_same_kinds_and_of_one_run_their_figures_in_all_runs(
    world: World, runs: list[Run]
) -> None:
    first, second = runs[0].pk, runs[1].pk
    found = {each["exception_type"]: each for each in api(world)["items"]}
    assert set(found) == {"ValueError", "KilledWorker"}
    assert (found["ValueError"]["count"], found["ValueError"]["runs"]) == (5, 2)
    assert found["ValueError"]["message"] == HOSTILE
    assert found["ValueError"]["newest_run"] == second
    assert api(world, f"?run={second}")["items"] == api(world)["items"]
    assert api(world, f"?run={first}")["items"] == [found["ValueError"]]
    assert api(world, "?text=died")["count"] == 1
    assert api(world, "?page_size=1&page=2")["pages"] == 2


def test_the_api_of_kinds_shows_nothing_of_others(world: World, runs: list[Run]) -> None:
    assert api(world, role="nobody")["items"] == []
    assert api(world, f"?run={runs[0].pk}", "outsider") == api(world, "?run=2147483647", "outsider")
    assert [each["runs"] for each in api(world, role="outsider")["items"]] == [1]
    assert api(world, "?since=nan")["detail"]
    assert api(world, "?run=0")["detail"]


def test_a_page_without_errors_says_of_which_time(world: World, runs: list[Run]) -> None:
    for run in runs:
        run.error_kinds.all().delete()
    shown = page(world, "30")
    assert "<h2>No errors</h2>" in shown
    assert "Only those of the last 30 days are searched." in shown


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("&text=killed", ["prefix load_blob"]),
        ("&text=second", ["prefix load_blob", "etl.py:load"]),
        ("&text=first+load", ["etl.py:load"]),
        ("&text=evening", ["prefix load_blob", "etl.py:load"]),
        ("&text=nothing+of+it", []),
        ("&project=alpha", ["prefix load_blob", "etl.py:load"]),
        ("&project=beta", []),
    ],
)
def test_kinds_are_searched(world: World, runs: list[Run], query: str, found: list[str]) -> None:
    shown = page(world, query)
    places = [place for place in ("prefix load_blob", "etl.py:load") if f'data-kind="{place}"' in shown]
    assert places == found


def test_only_recent_errors_are_shown_unless_all_are_asked_for(world: World, runs: list[Run]) -> None:
    now = timezone.now()
    RunError.objects.update(last=now - timedelta(days=8), first=now - timedelta(days=50))
    assert "first seen 50 d ago" in page(world)
    assert "data-kind" in page(world, "30")
    assert "Only those of the last 7 days" in page(world, "7")
    RunError.objects.filter(run__name="second").update(first=now - timedelta(days=1), last=now)
    assert "2 errors in 1 run, first seen 50 d ago" in page(world, "7"), "in runs before that week, too"


def test_counting_again_replaces_what_is_kept(runs: list[Run], erring: Recorded) -> None:
    [run, *_] = runs
    erring.error(4, "load-1", "TypeError", "late", traceback="")
    refresh_figures(run)
    count_errors_of_run(run)
    kept = {kind.exception_type: kind.place for kind in run.error_kinds.all()}
    assert kept == {"ValueError": "etl.py:load", "TypeError": "prefix load"}


def test_the_csv_has_a_row_for_each_run_and_kind(world: World, runs: list[Run]) -> None:
    content = world.client("viewer").get("/errors/?days=&format=csv").content.decode()
    assert len(content.splitlines()) == 1 + 3
    assert "etl.py,35,load,2" in content


def test_without_runs_the_page_says_how_errors_come(world: World) -> None:
    assert "No run yet" in page(world, role="nobody")
