"""What stops `up` from starting is one clear line each, and nothing is left running."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.runtime.machine import free_port, manage


def refused(*options: str, **changes: str) -> str:
    """The line that `up` ends with."""
    done = manage("up", *options, **changes)
    assert done.returncode == 1
    assert done.stdout == ""
    [line] = done.stderr.strip().splitlines()
    return line


def test_a_taken_port(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        line = refused("--data-dir", str(tmp_path), "--port", str(port))
    assert f"cannot listen on 127.0.0.1:{port} (Address already in use)" in line


def test_a_data_folder_that_cannot_be_written() -> None:
    line = refused("--data-dir", "/proc/observatory", "--port", str(free_port()))
    assert "the data folder /proc/observatory cannot be written" in line


def test_a_data_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot be written" in refused("--data-dir", str(tmp_path / "file"), "--port", str(free_port()))


def test_a_folder_of_other_things_is_not_taken_for_a_data_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "thesis.tex").touch()
    line = refused("--data-dir", str(tmp_path), "--port", str(free_port()))
    assert f"{tmp_path} contains other files" in line
    assert tmp_path.stat().st_mode & 0o777 == 0o755
    assert tmp_path.stat().st_uid == os.geteuid()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("nonsense", "DATABASE_URL"),
        ("mysql://root@localhost/x", "DATABASE_URL must be that of a PostgreSQL"),
        ("postgresql://nobody@127.0.0.1:1/x", "DATABASE_URL: no connection to the database"),
    ],
)
def test_a_wrong_database_url(tmp_path: Path, url: str, reason: str) -> None:
    line = refused("--data-dir", str(tmp_path), "--port", str(free_port()), DATABASE_URL=url)
    assert reason in line


def test_a_database_that_is_not_there(tmp_path: Path) -> None:
    url = os.environ["DATABASE_URL"].replace("/observatory?", "/no_such_database?")
    line = refused("--data-dir", str(tmp_path), "--port", str(free_port()), DATABASE_URL=url)
    assert 'database "no_such_database" does not exist' in line


@pytest.mark.parametrize("url", ["nonsense", "http://localhost", "redis://127.0.0.1:1/0"])
def test_a_wrong_redis_url(tmp_path: Path, url: str) -> None:
    line = refused("--data-dir", str(tmp_path), "--port", str(free_port()), REDIS_URL=url)
    assert "REDIS_URL" in line
