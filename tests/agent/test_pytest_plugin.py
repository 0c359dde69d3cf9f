"""`pytest --observe`: marked tests are runs, in a pytest of their own on a real cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, FakeServer, fake_server

ROOT = Path(__file__).parents[2]
CLUSTER = """
import pytest
from distributed import Client, LocalCluster

@pytest.fixture
def client(monkeypatch):
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with LocalCluster(**options, protocol="tcp") as cluster, Client(cluster) as client:
        yield client
"""
TESTS = f"""{CLUSTER}
@pytest.mark.observe
def test_that_is_observed(client):
    assert client.submit(sum, [1, 2]).result() == 3

@pytest.mark.observe("nightly etl", tags={{"size": "small"}})
@pytest.mark.parametrize("number", [1])
def test_with_a_name(client, number):
    assert client.submit(abs, -number).result() == number

@pytest.mark.observe
def test_that_fails(client):
    assert client.submit(abs, -1).result() == 2

@pytest.mark.observe
def test_that_is_skipped(client):
    pytest.skip("not today")

def test_without_the_mark(client):
    assert client.submit(abs, -1).result() == 1
"""
WITHOUT_CLIENT = "import pytest\n@pytest.mark.observe\ndef test_of_nothing():\n    pass\n"


@pytest.fixture
def received() -> Iterator[FakeServer]:
    with fake_server() as received:
        yield received


def run(
    folder: Path, code: str, *options: str, environment: Mapping[str, str] = {}
) -> subprocess.CompletedProcess[str]:
    (folder / "test_them.py").write_text(code)
    of_others = ("OBSERVATORY_", "PYTEST", "DJANGO")
    known = {name: value for name, value in os.environ.items() if not name.startswith(of_others)}
    plugins = ("-p", "observatory.agent.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:django")
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "--strict-markers", *options, "test_them.py"],
        cwd=folder,
        env={**known, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def told(received: FakeServer) -> dict[str, dict[str, Any]]:
    """The last row of each run by its name."""
    return {row["name"]: row for row in received.rows["run"]}


def test_marked_tests_are_runs_with_their_outcome_and_their_source(
    received: FakeServer, tmp_path: Path
) -> None:
    settings = {"OBSERVATORY_URL": received.url, "OBSERVATORY_TOKEN": TOKEN, "GITHUB_ACTIONS": "true"}
    github = {"GITHUB_REF_TYPE": "branch", "GITHUB_REF_NAME": "main", "GITHUB_SHA": "3f2a1c"}
    done = run(tmp_path, TESTS, "--observe", "--observe-list=runs.txt", environment={**settings, **github})
    assert "1 failed, 3 passed, 1 skipped" in done.stdout, done.stdout
    names = ["that_is_observed", "that_fails", "that_is_skipped"]
    observed, failed, skipped = (f"test_them.py::test_{name}" for name in names)
    assert (tmp_path / "runs.txt").read_text().split("\n") == [observed, "nightly etl", failed, skipped, ""]
    outcomes = {
        observed: "finished", "nightly etl": "finished", failed: "erred", skipped: "finished",
    }  # fmt: skip
    eventually(lambda: {name: row["outcome"] for name, row in told(received).items()} == outcomes)
    first = next(row for row in received.rows["run"] if row["name"] == "nightly etl")
    assert first["tags"] == {"size": "small", "branch": "main", "git": "3f2a1c"}
    assert "def test_with_a_name(client, number):" in first["code"]


def test_without_the_option_nothing_is_recorded(received: FakeServer, tmp_path: Path) -> None:
    settings = {"OBSERVATORY_URL": received.url, "OBSERVATORY_TOKEN": TOKEN}
    done = run(tmp_path, TESTS, environment=settings)
    assert "1 failed, 3 passed, 1 skipped" in done.stdout, done.stdout
    assert received.rows["run"] == []


@pytest.mark.parametrize(
    ("code", "environment", "reason"),
    [
        (WITHOUT_CLIENT, {}, "it has no Dask client when it begins"),
        (TESTS, {"OBSERVATORY_URL": "nonsense", "OBSERVATORY_TOKEN": "x"}, "ConfigurationError"),
    ],
)
def test_what_cant_be_recorded_is_said_and_no_test_fails_for_it(
    tmp_path: Path, code: str, environment: Mapping[str, str], reason: str
) -> None:
    done = run(tmp_path, code, "--observe", environment=environment)
    assert f"not recorded by Observatory: {reason}" in done.stdout, done.stdout
    assert "1 passed" in done.stdout or "1 failed, 3 passed, 1 skipped" in done.stdout
