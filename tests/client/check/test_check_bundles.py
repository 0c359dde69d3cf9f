"""`dask-observatory check` of bundles, without a server: with a database for as long as it takes."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from junitparser import JUnitXml

from observatory.runs.models import Run
from observatory.runs.refresh import refresh_figures
from observatory.store.maintenance.retention import delete_cluster
from tests.comparison.made_runs import make_run
from tests.exchange.files import export
from tests.runtime.machine import manage
from tests.support.projects import World
from tests.support.run_exceptions import raise_in

USUAL = {"load": 0.2, "clean": 0.3}


@pytest.fixture(autouse=True)
def nothing_is_left(transactional_db: None, world: World) -> Iterator[None]:
    yield
    delete_cluster(world.ended.pk)


def bundle(world: World, folder: Path, file: str, at: float, factor: float = 1.0, name: str = "etl") -> str:
    durations = {prefix: each * factor for prefix, each in USUAL.items()}
    run = make_run(world.ended, at, durations, tasks=30, name=name)
    refresh_figures(run)
    folder.mkdir(exist_ok=True)
    return str(export(Run.objects.get(pk=run.pk), folder / f"{file}.observatory.zip"))


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    return manage("check", *arguments, program=(sys.executable, "-m", "observatory"))


def installations() -> set[Path]:
    """The folders that checks without a server made, and didn't remove."""
    folders = Path(tempfile.gettempdir()).glob("observatory-*")
    return {folder for folder in folders if re.fullmatch(r"observatory-\w{8}", folder.name)}


def test_a_run_is_checked_against_a_bundle_and_against_several(world: World, tmp_path: Path) -> None:
    usual = [bundle(world, tmp_path, f"usual-{number}", 100 * number) for number in range(4)]
    alike, slower = bundle(world, tmp_path, "alike", 1000), bundle(world, tmp_path, "slower", 2000, 1.5)
    left = installations()
    one = check(alike, "--against", usual[0])
    assert (one.returncode, one.stderr) == (0, "")
    assert "etl, against 1 earlier run: fine" in one.stdout
    assert "No finding is new." in one.stdout
    assert "http" not in one.stdout
    markdown = tmp_path / "check.md"
    against = [f"--against={path}" for path in (*usual, usual[0])]
    several = check(alike, slower, *against, "--markdown", str(markdown))
    assert (several.returncode, several.stderr) == (1, "")
    assert "etl, against 4 earlier runs: worse" in several.stdout
    assert "### ❌ etl: worse than before" in markdown.read_text()
    assert installations() <= left


def test_a_bundle_says_what_the_code_of_its_run_raised_and_where(world: World, tmp_path: Path) -> None:
    usual = bundle(world, tmp_path, "usual", 0)
    run = make_run(world.ended, 1000, USUAL, tasks=30, name="etl")
    traceback = '  File "/srv/etl.py", line 12, in report\n    orders["total"]\nKeyError: \'total\'\n'
    raise_in(run, "KeyError", "'total'", traceback)
    refresh_figures(run)
    failed = str(export(Run.objects.get(pk=run.pk), tmp_path / "failed.observatory.zip"))
    junit = tmp_path / "check.xml"
    checked = check(failed, "--against", usual, "--junit", str(junit))
    assert checked.returncode == 1
    assert "Its code raised KeyError: 'total' in report (etl.py:12)." in checked.stdout
    [suite] = JUnitXml.fromfile(str(junit))
    [case] = [case for case in suite if case.name == "Outcome"]
    [failure] = case.result
    assert failure.message == "Its code raised KeyError: 'total' in report (etl.py:12)."
    assert failure.text.strip() == traceback.strip()


def test_runs_of_a_folder_are_checked_against_those_of_their_name_in_another(
    world: World, tmp_path: Path
) -> None:
    usual, new = tmp_path / "usual", tmp_path / "new of today"
    for number in range(3):
        bundle(world, usual, f"etl-{number}", 100 * number)
        bundle(world, usual, f"train-{number}", 50 + 100 * number, factor=4, name="train")
    bundle(world, new, "etl", 1000)
    bundle(world, new, "train", 1100, factor=4, name="train")
    bundle(world, new, "rare", 1200, factor=9, name="rare")
    found = check(f"{new}/", "--against", f"{usual}/")
    assert found.stderr == ""
    assert "etl, against 3 earlier runs: fine" in found.stdout
    assert "train, against 3 earlier runs: fine" in found.stdout
    assert "rare, against " in found.stdout


def test_a_folder_without_bundles_and_one_that_is_not_there_exit_with_2(tmp_path: Path) -> None:
    for name in ("empty", "absent"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        found = check(f"{tmp_path}/{name}/", "--against", "usual.observatory.zip")
        assert (found.returncode, found.stdout) == (2, "")
        assert found.stderr == f"Error: {tmp_path}/{name}/ has no bundles (*.observatory.zip)\n"


def test_one_bundle_does_not_say_how_much_runs_vary(world: World, tmp_path: Path) -> None:
    usual, slower = bundle(world, tmp_path, "usual", 0), bundle(world, tmp_path, "slower", 2000, 1.5)
    found = check(slower, "--against", usual)
    assert (found.returncode, found.stderr) == (3, "")
    assert "that can't say how much runs vary" in found.stdout


def test_a_file_that_is_no_bundle_exits_with_2_and_its_name(world: World, tmp_path: Path) -> None:
    usual = bundle(world, tmp_path, "usual", 0)
    broken = tmp_path / "--broken.observatory.zip"
    broken.write_bytes(Path(usual).read_bytes()[:-400])
    for arguments in ((usual, f"--against={broken}"), ("--", str(broken), f"--against={usual}")):
        found = check(*arguments)
        assert found.returncode == 2, found
    found = check(usual, f"--against={broken}")
    assert found.stderr.startswith("Error: --broken.observatory.zip: ")
