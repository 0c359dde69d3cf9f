"""`observatory.run(…, to=FILE)`: runs without a server, on real clusters, with databases of their own."""

from __future__ import annotations

import asyncio
import html
import http.client
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster

import observatory
import observatory.agent
from observatory.agent import recorded_runs
from observatory.client import recording
from observatory.client.check.command import check
from observatory.client.recording import Recording
from observatory.client.without_server import CommandFailed
from observatory.exchange.bundles.bundle import Bundle
from observatory.wire.client_code.runs import METADATA
from tests.runtime.machine import manage
from tests.support.traces import span

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text().partition("## Without a server")[2]
SCRIPT = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
COMMAND = re.findall(r"^dask-observatory (.*)$", PAGE, re.MULTILINE)[0].split()
WORKERS = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "protocol": "tcp://"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(**WORKERS, dashboard_address="127.0.0.1:0") as cluster:
        yield cluster


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster) as client:
        yield client


@pytest.fixture(autouse=True)
def each_reason_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("observatory.agent.runs._warned", set())


def has_agent(client: Client) -> bool:
    return bool(client.sync(client.scheduler.get_metadata, keys=[METADATA], default=False))


def contents(path: Path) -> tuple[Any, dict[str, int]]:
    """The run of a bundle, and the number of rows by table."""
    with Bundle(path) as bundle:
        return bundle.manifest.run, {name: part.rows for name, part in bundle.manifest.parts.items()}


def test_the_documented_lines_write_bundles_that_are_checked_without_a_server(tmp_path: Path) -> None:
    python = (sys.executable,)
    variables = {
        "PYTHONPATH": str(ROOT),
        "OBSERVATORY_URL": "http://127.0.0.1:1",
        "OBSERVATORY_TOKEN": "obs_x",
    }
    for name in ("usual", "run"):
        script = tmp_path / "work.py"
        script.write_text(SCRIPT.replace("run.observatory.zip", f"{name}.observatory.zip"))
        done = manage(str(script), program=python, folder=tmp_path, **variables)
        assert (done.returncode, "by Observatory" in done.stderr) == (0, False), done.stderr
    run, rows = contents(tmp_path / "run.observatory.zip")
    assert (run.name, run.outcome, rows["task"]) == ("etl", "finished", 1000)
    assert rows["span"] >= 1000  # and those of transfers
    assert 'observatory.run("etl"' in run.code
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"run.observatory.zip", "usual.observatory.zip", "work.py"}
    found = manage(*COMMAND, program=(sys.executable, "-m", "observatory"), folder=tmp_path, **variables)
    assert found.returncode in (0, 1, 3), found
    assert "etl, against 1 earlier run" in found.stdout
    assert "0 tasks failed." in found.stdout


def test_an_exception_is_raised_again_and_the_bundle_is_written(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "failed.observatory.zip"
    file.write_text("what was there before")
    run = observatory.run("etl", to=file)
    with span() as trace, pytest.raises(ZeroDivisionError), run:
        client.submit(divmod, 1, 0).result()
    assert not trace.attributes, "no server has a page of it"
    assert f"It is in {file}" in run._repr_mimebundle_()["text/plain"]
    assert "href" not in run._repr_mimebundle_()["text/html"]
    found, rows = contents(file)
    assert (found.outcome, found.tags["exception"], rows["error"]) == ("erred", "ZeroDivisionError", 1)
    assert not has_agent(client)
    assert list(tmp_path.iterdir()) == [file]


async def test_an_asynchronous_client_opens_it_with_async_with(tmp_path: Path) -> None:
    file = tmp_path / "run.observatory.zip"
    options = {**WORKERS, "dashboard_address": "127.0.0.1:0", "asynchronous": True}
    async with LocalCluster(**options) as cluster, Client(cluster, asynchronous=True) as client:
        with pytest.raises(ValueError, match="async with"), observatory.run("etl", client=client, to=file):
            pass
        async with observatory.run("etl", client=client, to=file) as opened:
            assert f"It will be in {file}" in opened._repr_mimebundle_()["text/plain"]
            await asyncio.gather(*client.map(abs, range(5)))
    run, rows = contents(file)
    assert (run.outcome, rows["task"]) == ("finished", 5)


def test_a_cluster_that_closes_in_the_block_leaves_a_bundle(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "run.observatory.zip"
    with LocalCluster(**WORKERS, dashboard_address="127.0.0.1:0") as cluster:
        client = Client(cluster, set_as_default=False)
        with observatory.run("etl", client=client, to=file), caplog.at_level(logging.WARNING, "observatory"):
            client.gather(client.map(abs, range(5)))
            client.close()
            cluster.close()
    assert "its last records may be missing" in caplog.text
    run, rows = contents(file)
    assert (run.outcome, rows["task"]) == ("erred", 5)


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("run.html", ValueError, "ends with .observatory.zip"),
        ("missing/run.observatory.zip", FileNotFoundError, "missing"),
        ("file/run.observatory.zip", NotADirectoryError, "file"),
        ("folder.zip", IsADirectoryError, "is a folder"),
    ],
)
def test_a_file_that_cannot_be_written_raises_before_the_block(
    client: Client, tmp_path: Path, name: str, error: type[Exception], said: str
) -> None:
    (tmp_path / "folder.zip").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(error, match=said):
        observatory.run("etl", to=tmp_path / name)
    assert not has_agent(client)


def test_without_a_client_it_raises_before_the_block(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="there is no Dask client"),
        observatory.run("etl", to=tmp_path / "run.zip"),
    ):
        pytest.fail("the block began")


def test_an_agent_that_reports_elsewhere_stays_and_the_run_raises_before_the_block(
    client: Client, tmp_path: Path
) -> None:
    observatory.agent.register(client, url="http://127.0.0.1:1", token="obs_x", close_timeout=0)
    try:
        with (
            pytest.raises(RuntimeError, match="has an agent already"),
            observatory.run("etl", to=tmp_path / "run.zip"),
        ):
            pytest.fail("the block began")
        assert has_agent(client)
    finally:
        observatory.agent.unregister(client)
    assert list(tmp_path.iterdir()) == []


def test_a_scheduler_that_does_not_reach_the_client_raises_before_the_block(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Unreachable(Recording):
        def open(self, host: str) -> dict[str, str]:
            return {**super().open(host), "url": "http://127.0.0.1:1", "close_timeout": "0"}

    open_run = observatory.run
    monkeypatch.setattr(recorded_runs.RecordedRun, "recording", Unreachable)
    monkeypatch.setattr(recorded_runs, "FIRST_BATCH", 0.5)
    with (
        pytest.raises(ConnectionError, match=r"can't reach this process at http://127\.0\.0\.1:1"),
        open_run("etl", to=tmp_path / "run.zip"),
    ):
        pytest.fail("the block began")
    assert not has_agent(client)


def test_a_bundle_that_cannot_be_made_is_a_warning_after_the_block(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(name: str, *arguments: str) -> str:
        raise CommandFailed("no space left on device")

    monkeypatch.setattr(recording, "run_command", fail)
    with (
        caplog.at_level(logging.WARNING, "observatory"),
        observatory.run("etl", to=tmp_path / "a.zip") as run,
    ):
        assert client.submit(sum, [1, 2]).result() == 3
    assert f"{tmp_path / 'a.zip'} isn't written: no space left on device" in caplog.text
    shown = run._repr_mimebundle_()["text/html"]
    assert run.outcome == "finished"
    assert "It isn't recorded: see the warning above." in html.unescape(shown)
    assert "href" not in shown


def test_only_the_agent_may_send_batches_and_none_over_the_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "LARGEST_BATCH", 1000)
    monkeypatch.setattr(recording, "MOST_BYTES", 1500)
    taker = Recording(tmp_path / "run.zip")
    settings = taker.open("127.0.0.1")

    def post(body: bytes, token: str = settings["token"], path: str = recording.INGEST) -> int:
        connection = http.client.HTTPConnection(settings["url"].removeprefix("http://"), timeout=60)
        connection.request("POST", path, body, {"Authorization": f"Bearer {token}"})
        status = connection.getresponse().status
        connection.close()
        return status

    try:
        assert post(b"x", token="obs_öther") == 401
        assert post(b"x", path="/") == 404
        assert post(b"x" * 1001) == 413
        assert not taker.arrived.is_set()
        assert [post(b"x" * 1000), post(b"x" * 600), post(b"x" * 500)] == [200, 413, 200]
        assert taker.arrived.is_set()
    finally:
        taker.close()
    assert list(tmp_path.iterdir()) == []


def test_without_the_servers_libraries_run_and_check_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("observatory.client.without_server.NEEDED", ("not_installed",))
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'dask-observatory\[server\]'"):
        observatory.run("etl", to=tmp_path / "run.observatory.zip")
    file = tmp_path / "usual.observatory.zip"
    file.touch()
    done = CliRunner().invoke(check, [str(file), "--against", str(file)])
    assert done.exit_code == 2
    assert "the server isn't installed: pip install 'dask-observatory[server]'" in done.output
