"""docs/ci.md and deploy/ci/: the lines that they tell people to write are run, on a real cluster."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.db import connections
from junitparser import JUnitXml

from observatory.clusters.tokens import access_tokens, ingest_tokens
from observatory.comparison.check import check as checks
from observatory.runs import tasks
from observatory.runs.models import Run
from observatory.store.maintenance.retention import delete_cluster
from observatory.why.findings import of_runs
from tests.support.projects import World, world

__all__ = ["world"]

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text()
FILES = {path.stem: path.read_text() for path in (ROOT / "deploy" / "ci").glob("*.yaml")}
GITHUB, GITLAB = yaml.safe_load(FILES["github"]), yaml.safe_load(FILES["gitlab"])
[STEPS] = [job["steps"] for job in GITHUB["jobs"].values()]
EXAMPLE, _ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
ON_GITHUB = {"GITHUB_ACTIONS": "true", "GITHUB_REF_TYPE": "branch", "GITHUB_SHA": "3f2a1c"}
FAILING = EXAMPLE.replace(
    "client.map(abs, range(-100, 0)))) == 5050", 'client.map(abs, [-1, "x"]), errors="skip")) == 1'
)
"""a task of it fails, and the test doesn't notice"""


@pytest.mark.parametrize("name", ["github", "gitlab"])
def test_the_page_has_the_files_which_have_at_most_ten_lines(name: str) -> None:
    assert f"```yaml\n{FILES[name]}```" in PAGE
    assert len(FILES[name].splitlines()) <= 10


def commands(lines: list[str]) -> str:
    """The lines, without what installs: an installation of this checkout is there."""
    kept = [re.sub(r"pip install '(dask-observatory\[ci\])'( && )?", "", line) for line in lines]
    assert kept != lines
    return "\n".join(line for line in kept if line)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the programs that an installation has."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, module in {
        "pytest": "pytest -p observatory.agent.pytest_plugin -p no:cacheprovider -p no:django",
        "dask-observatory": "observatory",
    }.items():
        (folder / name).write_text(f'#!/bin/sh\nexec {sys.executable} -m {module} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


@contextmanager
def celery() -> Iterator[None]:
    """Does in a thread what Celery does in intervals."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.2):
            tasks.find_runs()
            of_runs.look_at_new_runs()
        connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    stop.set()
    thread.join()


@pytest.fixture
def job(
    transactional_db: None,
    world: World,
    live_server: Any,
    tmp_path: Path,
    programs: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Any]:
    """Runs lines of a shell as a job of CI in a project with a test of the page."""
    soon = checks.LATE / 5
    for module in (checks, tasks, of_runs):
        monkeypatch.setattr(module, "LATE", soon)
    _, ingest = ingest_tokens.make(world.alpha, "ci", None)
    _, access = access_tokens.make(world.people["viewer"], "ci", None)
    of_others = ("OBSERVATORY_", "PYTEST", "DJANGO", "DATABASE", "REDIS", "GITHUB", "CI")
    known = {name: value for name, value in os.environ.items() if not name.startswith(of_others)}
    known |= {"OBSERVATORY_URL": live_server.url, "OBSERVATORY_TOKEN": ingest, "PYTHONPATH": str(ROOT)}
    known |= {"OBSERVATORY_ACCESS_TOKEN": access, "PATH": f"{programs}:{known['PATH']}"}
    folder = tmp_path / "project"
    folder.mkdir()

    def run(script: str, test: str, **environment: str) -> subprocess.CompletedProcess[str]:
        (folder / "test_etl.py").write_text(test)
        return subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=folder,
            env={**known, "GITHUB_STEP_SUMMARY": str(folder / "summary.md"), **environment},
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )

    run.folder = folder  # type: ignore[attr-defined]
    with celery():
        yield run
    for cluster in Run.objects.values_list("cluster", flat=True).distinct():
        delete_cluster(cluster)


def test_the_lines_for_github_pass_and_find_what_got_worse(job: Any) -> None:
    lines = [step["run"] for step in STEPS if "run" in step]
    record, check = commands(lines[:1]), lines[1]
    assert FAILING != EXAMPLE
    pushed = job(record, EXAMPLE, **ON_GITHUB, GITHUB_REF_NAME="main", GITHUB_RUN_ID="89")
    assert "1 passed" in pushed.stdout, pushed.stdout
    worse = job(f"{record}\n{check}", FAILING, **ON_GITHUB, GITHUB_REF_NAME="7/merge", GITHUB_RUN_ID="90")
    assert "1 passed" in worse.stdout
    assert worse.returncode == 1, worse.stdout + worse.stderr
    assert "test_etl.py::test_etl, against 1 earlier run: worse" in worse.stdout
    assert "Errors       worse        1 task failed; 0 may." in worse.stdout
    summary = (job.folder / "summary.md").read_text()
    assert re.match(r"### ❌ \[test&#95;etl\.py::test&#95;etl\]\(http://\S+/runs/\d+/\): worse", summary)


def test_the_lines_for_gitlab_pass_and_leave_what_they_promise(job: Any) -> None:
    [performance] = GITLAB.values()
    [record, check] = commands(performance["script"]).splitlines()
    on_main = {"GITLAB_CI": "true", "CI_COMMIT_BRANCH": "main", "CI_COMMIT_SHA": "3f2a1c"}
    first = job(f"{record}\n{check}", EXAMPLE, **on_main, CI_JOB_ID="1")
    assert first.returncode in performance["allow_failure"]["exit_codes"], first
    assert "there is no earlier run to compare with" in first.stdout
    report = performance["artifacts"]["reports"]["junit"]
    [suite] = JUnitXml.fromfile(str(job.folder / report))
    assert (suite.name, suite.failures) == ("test_etl.py::test_etl", 0)
    assert suite.skipped >= 2
