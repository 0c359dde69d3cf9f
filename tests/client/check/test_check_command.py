"""`dask-observatory check` with a server: which run it takes, what it waits for, what it writes."""

from __future__ import annotations

import re
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils.timezone import now
from junitparser import JUnitXml

from observatory.client.check import answers
from observatory.clusters.tokens import access_tokens
from observatory.runs.models import Run
from observatory.runs.refresh import refresh_figures
from observatory.runtime.command_line import main
from observatory.store.maintenance.retention import delete_cluster
from tests.comparison.made_runs import make_run
from tests.support.projects import World
from tests.support.stored_findings import finding, keep

USUAL = {"load": 0.2, "clean": 0.3}
HOSTILE = "](http://evil.example) @everyone #1 | <img src=x> `x` \x1b[2J\n# big"


@pytest.fixture(autouse=True)
def server(
    transactional_db: None, world: World, live_server: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Where the command finds the server, as in a job of CI."""
    _, secret = access_tokens.make(world.people["viewer"], "ci", None)
    monkeypatch.setenv("OBSERVATORY_URL", live_server.url)
    monkeypatch.setenv("OBSERVATORY_ACCESS_TOKEN", secret)
    monkeypatch.setattr(answers, "INTERVAL", 0.1)
    yield
    delete_cluster(world.ended.pk)


def made(
    world: World, at: float, factor: float = 1.0, name: str = "etl", branch: str = "main", **tags: str
) -> Run:
    seconds = {prefix: each * factor for prefix, each in USUAL.items()}
    run = make_run(world.ended, at, seconds, tasks=30, name=name, tags={"branch": branch, **tags})
    refresh_figures(run)
    return keep(run, finding("idle", 3))


@pytest.fixture
def history(world: World) -> list[Run]:
    return [made(world, 100 * number, 1 + 0.01 * (number % 3)) for number in range(5)]


def check(*arguments: str) -> int:
    """The exit code."""
    with pytest.raises(SystemExit) as ended:
        main(["check", *arguments])
    return int(ended.value.code or 0)


def test_a_run_like_those_before_it_exits_with_0(
    world: World, history: list[Run], capsys: pytest.CaptureFixture[str], live_server: Any
) -> None:
    run = made(world, 1000)
    assert check(str(run.pk), "--against", "last:10 of main") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("etl, against 5 earlier runs: fine\n")
    assert re.search(r"\n  Duration +fine +7\.6\d s, .*the median of 5 runs; runs vary by 1\.\d %", shown)
    assert "\n  No finding is new.\n" in shown
    assert f"\n  {live_server.url}/runs/{run.pk}/\n" in shown


def test_a_slower_run_exits_with_1_and_the_files_say_so(
    world: World, history: list[Run], tmp_path: Path, live_server: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run = made(world, 1000, 1.5, branch="feature")
    Run.objects.get(pk=run.pk).findings.delete()
    keep(run, finding("gil", 9, sentence="Threads waited for the GIL."))
    junit, markdown = tmp_path / "check.xml", tmp_path / "check.md"
    arguments = ["--against", "last:10 of main", "--junit", str(junit), "--markdown", str(markdown)]
    assert check(f"{live_server.url}/runs/{run.pk}/?tab=why", *arguments) == 1
    assert "new finding: Threads waited for the GIL." in capsys.readouterr().out
    [suite] = JUnitXml.fromfile(str(junit))
    assert (suite.name, suite.tests, suite.failures) == ("etl", 6, 2)  # all prefixes are slower alike
    failed = {case.name: case for case in suite if not case.is_passed}
    assert {(name, case.classname) for name, case in failed.items()} == {
        ("Duration", "etl"),
        ("Tasks", "etl"),
    }
    assert "more than" in failed["Duration"].result[0].message
    text = markdown.read_text()
    assert text.startswith(f"### ❌ [etl]({live_server.url}/runs/{run.pk}/): worse than before\n")
    assert "**New findings**\n\n- Threads waited for the GIL." in text
    assert f"[Why?]({live_server.url}/runs/{run.pk}/?tab=why)" in text
    assert f"/runs/compare/?a={run.pk}&b={history[-1].pk}" in text


def test_too_few_runs_exit_with_3(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    made(world, 0), made(world, 100)
    assert check(str(made(world, 1000, 1.5).pk)) == 3
    assert "these can't say how much runs vary" in capsys.readouterr().out
    assert check(str(made(world, 2000, name="new").pk)) == 3
    assert "there is no earlier run to compare with" in capsys.readouterr().out


def test_the_worst_of_several_runs_counts(world: World, history: list[Run], tmp_path: Path) -> None:
    made(world, 1000, name="new")
    made(world, 1100)
    names = tmp_path / "runs.txt"
    names.write_text("etl\n\nnew\netl\n")
    assert check(f"@{names}") == 3
    made(world, 1200, 1.5)
    assert check(f"@{names}", "--junit", str(tmp_path / "check.xml")) == 1
    assert [suite.name for suite in JUnitXml.fromfile(str(tmp_path / "check.xml"))] == ["etl", "new"]


def test_a_name_is_that_of_the_newest_run_of_the_job(
    world: World, history: list[Run], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = made(world, 1000, ci="github 17.1")
    made(world, 1100, 1.5, ci="github 18.1")
    made(world, 1200, 1.5, name="etl of others")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_RUN_ID", "17")
    assert check("etl") == 0
    assert f"/runs/{ours.pk}/" in capsys.readouterr().out
    assert check("etl", "--tag", "ci=github 18.1") == 1
    assert check("etl", "--tag", "ci=github 19.1", "--wait", "0") == 2
    assert "there is no run of this name with the tag ci=github 19.1" in capsys.readouterr().err


def test_a_run_that_goes_on_is_waited_for(
    world: World,
    history: list[Run],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = made(world, 1000)
    Run.objects.filter(pk=run.pk).update(stop=None, outcome="running")
    assert check(str(run.pk), "--wait", "0") == 2
    assert f"Error: {run.pk}: after 0 s the run goes on" in capsys.readouterr().err

    def end(seconds: float) -> None:
        Run.objects.filter(pk=run.pk).update(stop=run.stop, outcome="finished")

    monkeypatch.setattr(answers, "time", SimpleNamespace(monotonic=time.monotonic, sleep=end))
    assert check(str(run.pk), "--wait", "600") == 0
    assert f"{run.pk}: the run goes on, waiting …\n" in capsys.readouterr().err


def test_findings_that_dont_come_in_time_are_left_out(
    world: World, history: list[Run], capsys: pytest.CaptureFixture[str]
) -> None:
    run = made(world, 1000)
    Run.objects.filter(pk=run.pk).update(counted=now())
    assert check(str(run.pk), "--wait", "0") == 0
    Run.objects.get(pk=run.pk).findings.delete()
    assert check(str(run.pk), "--wait", "0") == 0
    assert "Its findings aren't known." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["1", "--against", "last:99"], "1 to 20 runs"),
        (["1", "--against", "main"], "selects no runs"),
        (["1", "--against", "last:2", "--against", "last:3"], "given several times"),
        (["1", "--slower", "much"], "is no share"),
        (["1", "--memory", "-5%"], "is no share"),
        (["1", "--slower", "nan"], "is no share"),
        (["1", "--errors", "1.5"], "is no number"),
        (["999999999"], "404"),
        (["https://elsewhere.example/runs/1/"], "isn't of http"),
        (["name:"], "is no name"),
        (["@/nowhere/runs.txt"], "can't be read"),
        (["@/dev/null"], "the file is empty"),
        (["1", "--junit", "/nowhere/check.xml"], "the folder doesn't exist"),
        (["1", "--url", "ftp://x"], "begins with http"),
        (["run.observatory.zip"], "name the bundles to compare with"),
        (["no-such.observatory.zip", "--against", "last:10"], "is no bundle"),
        (["no-such.observatory.zip", "--against", "other.observatory.zip"], "doesn't exist"),
        ([], "Missing argument"),
    ],
)
def test_what_cant_be_checked_exits_with_2_and_the_reason(
    world: World, arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made_up = str(made(world, 0).pk)
    assert check(*(made_up if each == "1" else each for each in arguments)) == 2
    assert reason in capsys.readouterr().err


def test_without_a_token_or_a_server_the_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OBSERVATORY_URL", "http://127.0.0.1:9")
    assert check("1", "--wait", "0") == 2
    assert "can't be reached" in capsys.readouterr().err
    monkeypatch.delenv("OBSERVATORY_ACCESS_TOKEN")
    assert check("1") == 2
    assert "OBSERVATORY_ACCESS_TOKEN" in capsys.readouterr().err
    monkeypatch.delenv("OBSERVATORY_URL")
    assert check("1") == 2
    assert "OBSERVATORY_URL" in capsys.readouterr().err


def test_a_token_that_may_not_see_the_run_is_told_that_there_is_none(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = made(world, 0)
    monkeypatch.setenv("OBSERVATORY_ACCESS_TOKEN", access_tokens.make(world.people["outsider"], "x", None)[1])
    assert check(str(run.pk)) == 2
    assert "404" in capsys.readouterr().err
    monkeypatch.setenv("OBSERVATORY_ACCESS_TOKEN", "wrong")
    assert check(str(run.pk)) == 2
    assert "401" in capsys.readouterr().err


def test_hostile_names_stay_text_on_the_terminal_in_markdown_and_in_xml(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(world, 0, name=HOSTILE)
    run = made(world, 1000, name=HOSTILE)
    Run.objects.get(pk=run.pk).findings.delete()
    keep(run, finding("gil", 9, sentence=HOSTILE))
    junit, markdown = tmp_path / "check.xml", tmp_path / "check.md"
    assert check(str(run.pk), "--junit", str(junit), "--markdown", str(markdown)) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\n# big" not in shown
    text = markdown.read_text()
    for part in ("](http://evil", "@everyone", "#1 ", "<img", "`x`", "\n# big", "\x1b", "http://evil"):
        assert part not in text, part
    assert ElementTree.parse(junit).getroot().find("testsuite") is not None
