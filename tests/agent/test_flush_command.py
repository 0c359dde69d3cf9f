"""`python -m observatory.agent flush` sends the batches left on disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from observatory.agent.delivery.spool import Spool, owner_of
from tests.agent.batches import real, transition
from tests.agent.fake_server import TOKEN
from tests.agent.faulty_server import FaultyServer, faulty_server

ROOT = Path(__file__).parents[2]

KILLED = """
import sys, time
from observatory.agent.delivery.buffer import Buffer
from observatory.agent.configuration import read_configuration
from observatory.agent.delivery.sender import Sender
from tests.agent.batches import CLUSTER, transition
url, token, folder = sys.argv[1:]
settings = read_configuration(
    url=url, token=token, spool_directory=folder, flush_interval=0.05, memory_limit=0
)
sender = Sender(settings, CLUSTER, Buffer())
sender.start()
for number in range(5000):
    sender.buffer.appender("transition")(transition(number))
    time.sleep(0.0001)
while len(sender.buffer) or len(sender.backlog.spool) < len(sender.backlog):
    time.sleep(0.05)
time.sleep(0.3)
print("kept", flush=True)
time.sleep(60)
"""


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with faulty_server() as server:
        yield server


def agent(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OBSERVATORY_")}
    return subprocess.run(
        [sys.executable, "-m", "observatory.agent", *arguments],
        cwd=ROOT,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def flush(server: FaultyServer, folder: Path) -> subprocess.CompletedProcess[str]:
    return agent("flush", "--url", server.url, "--token", TOKEN, "--spool-directory", str(folder))


def leave(folder: Path, url: str, token: str = TOKEN, name: str = "gone", batches: int = 3) -> None:
    spool = Spool(folder / name, 10**6, owner_of(url, token))
    for number in range(1, batches + 1):
        spool.add(real(number, {"transition": [transition(number)]}))
    spool.close()


def test_the_spool_of_a_killed_agent_is_sent_once(server: FaultyServer, tmp_path: Path) -> None:
    server.stop()
    command = [sys.executable, "-c", KILLED, server.url, TOKEN, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"kept\n"
        held = flush(server, tmp_path)
        assert held.returncode == 0
        assert "0 batches left" in held.stdout
        process.send_signal(signal.SIGKILL)
        process.wait()
    refused = flush(server, tmp_path)
    assert refused.returncode == 1
    assert "ConnectionRefusedError" in refused.stderr
    server.start()
    server.behaviours = ["cutting-answers"]
    assert flush(server, tmp_path).returncode == 1
    done = flush(server, tmp_path)
    assert done.returncode == 0
    assert done.stdout.endswith("\n0 batches left\n")
    keys = [int(row["key"].removeprefix("inc-"), 16) for row in server.received.rows["transition"]]
    assert keys == list(range(5000))
    assert list(tmp_path.iterdir()) == []


def test_it_prints_what_it_sent_and_what_is_left(server: FaultyServer, tmp_path: Path) -> None:
    leave(tmp_path, server.url, name="one")
    leave(tmp_path, server.url, name="two", batches=2)
    server.behaviours = ["well", "failing"]
    done = flush(server, tmp_path)
    assert done.returncode == 1
    assert "one: 1 of 3 batches sent" in done.stdout
    assert "two: 0 of 2 batches sent" in done.stdout
    assert done.stdout.endswith("4 batches left\n")
    assert "status 500" in done.stderr


def test_a_newer_token_sends_batches_spooled_with_an_older_one(server: FaultyServer, tmp_path: Path) -> None:
    server.received.digests = {owner_of(server.url, "an older token")["token"]}
    leave(tmp_path, server.url, token="an older token")
    assert flush(server, tmp_path).returncode == 0
    assert len(server.received.rows["transition"]) == 3


def test_batches_of_another_project_stay(server: FaultyServer, tmp_path: Path) -> None:
    leave(tmp_path, server.url, token="another project's token")
    done = flush(server, tmp_path)
    assert "another project" in done.stdout
    assert server.received.heads == []
    assert (tmp_path / "gone").exists()


def test_batches_for_another_server_stay(server: FaultyServer, tmp_path: Path) -> None:
    leave(tmp_path, "http://elsewhere")
    done = flush(server, tmp_path)
    assert done.returncode == 0
    assert server.asked == 0
    assert (tmp_path / "gone").exists()


def test_flush_reads_the_agents_settings(server: FaultyServer, tmp_path: Path) -> None:
    leave(tmp_path, server.url)
    done = agent(
        "flush",
        OBSERVATORY_URL=server.url,
        OBSERVATORY_TOKEN=TOKEN,
        DASK_OBSERVATORY__SPOOL_DIRECTORY=str(tmp_path),
    )
    assert done.returncode == 0
    assert "3 of 3 batches sent" in done.stdout


def test_a_missing_setting_is_an_error_of_one_line(tmp_path: Path) -> None:
    done = agent("flush", "--url", "http://observatory")
    assert done.returncode == 1
    assert done.stderr == "observatory.token is not set: create an ingest token on the project's page\n"


def test_without_a_command_it_prints_help() -> None:
    done = agent()
    assert done.returncode == 0
    assert "flush" in done.stdout
