"""Under root: when the account of the programs cannot run them, and what is chowned to it."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from observatory.runtime.embedded.account import service_account
from observatory.runtime.embedded.data_folder import DataFolder
from observatory.runtime.supervision.privileges import obstacle
from tests.runtime.machine import free_port, manage

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root has privileges to give up"),
]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="observatory-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def data_folder(path: Path) -> DataFolder:
    folder = DataFolder(path / "data", service_account())
    folder.prepare()
    return folder


def test_a_data_folder_that_the_account_cannot_reach_is_an_obstacle(tmp_path: Path) -> None:
    folder = data_folder(tmp_path)
    assert obstacle(folder) == f"it cannot reach the data folder {folder.path}"


def test_a_python_that_the_account_cannot_run_is_an_obstacle(
    open_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "python"
    closed.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(closed))
    assert obstacle(data_folder(open_folder)) == f"it cannot run {closed}: Permission denied"


def test_it_runs_as_root_with_one_line_that_says_so_where_the_account_cannot(tmp_path: Path) -> None:
    folder = data_folder(tmp_path)
    (folder.path / "postgres").mkdir()
    (folder.path / "postgres/PG_VERSION").write_text("9")  # which ends it before it starts anything
    done = manage("up", "--data-dir", str(folder.path), "--port", str(free_port()))
    warning, error = done.stderr.strip().splitlines()
    assert "everything but PostgreSQL and Valkey runs as root" in warning
    assert f"cannot run it: it cannot reach the data folder {folder.path}" in warning
    assert "was created by PostgreSQL 9" in error


def test_what_root_owns_is_given_to_the_account_but_nothing_outside(open_folder: Path) -> None:
    folder = data_folder(open_folder)
    outside, linked = open_folder / "outside", open_folder / "linked"
    outside.write_text("root's")
    linked.write_text("root's")
    for name in ("exchange", "software", "exchange/software"):
        (folder.path / name).mkdir()
    (folder.path / "exchange/job").touch()
    (folder.path / "software/postgres").touch()
    (folder.path / "exchange/symbolic").symlink_to(outside)
    os.link(linked, folder.path / "exchange/hard")
    folder.give_to_account()
    account = service_account().uid
    owners = {str(path.relative_to(folder.path)): path.lstat().st_uid for path in folder.path.rglob("*")}
    assert {name for name, owner in owners.items() if owner == 0} == {
        *("software", "software/postgres", "exchange/hard")
    }
    assert owners["exchange/job"] == owners["exchange/software"] == owners["secret_key"] == account
    assert outside.stat().st_uid == linked.stat().st_uid == 0
