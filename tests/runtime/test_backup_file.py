"""The file of a backup: complete or not there, and read only if nothing in it was changed."""

from __future__ import annotations

import errno
import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from observatory.runtime.backup import making
from observatory.runtime.backup.archive import DATABASE, SECRET_KEY, Backup, BackupFile, Manifest, writing
from observatory.runtime.backup.postgres_clients import find_client
from observatory.runtime.errors import StartupError

Make = Callable[..., Path]


def manifest(**changes: Any) -> Manifest:
    known: dict[str, Any] = {
        "observatory": "0.1.0",
        "created": "2026-05-04T12:00:00+00:00",
        "server": 18,
        "pg_dump": 18,
        "timescale": None,
        "database_bytes": 1000,
        "migrations": {"runs": ["0001_initial"]},
    }
    return Manifest(**{**known, **changes})


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Makes a backup with a short dump, of which a restore reads all but the database."""

    def make_one(**changes: Any) -> Path:
        path = tmp_path / "a.backup"
        with writing(path) as file:
            backup = BackupFile(file, lambda name, size: None)
            backup.add(SECRET_KEY, io.BytesIO(b"a key"))
            backup.add(DATABASE, io.BytesIO(b"a dump" * 1000))
            backup.finish(manifest(**changes))
        return path

    return make_one


def refusal(path: Path) -> str:
    """What `restore` says of a file, before it looks at the target."""
    with pytest.raises(CommandError) as raised:
        call_command("restore", path)
    return str(raised.value)


def test_it_is_an_ordinary_tar_archive_that_its_owner_alone_can_read(make: Make) -> None:
    path = make()
    with tarfile.open(path) as archive:
        assert archive.getnames() == [SECRET_KEY, DATABASE, "manifest.json"]
        assert {entry.mode for entry in archive} == {0o600}
    assert path.stat().st_mode & 0o777 == 0o600
    with Backup(path) as backup:
        assert backup.read(DATABASE) == b"a dump" * 1000


def test_a_changed_byte_is_found(make: Make) -> None:
    path = make()
    content = bytearray(path.read_bytes())
    content[content.index(b"a dump") + 100] ^= 1
    path.write_bytes(content)
    assert refusal(path) == f"{path} is damaged: the checksum of database.dump is another"


def test_a_file_that_is_cut_off_or_no_backup_is_refused(make: Make) -> None:
    path = make()
    whole = path.read_bytes()
    for content in (whole[:5000], b"", b"something else" * 1000):
        path.write_bytes(content)
        assert refusal(path) == f"{path} is not a complete backup of Dask Observatory"


def test_a_backup_with_an_unknown_schema_is_refused(make: Make) -> None:
    path = make(observatory="9.0", migrations={"runs": ["0001_initial", "0999_newer"]})
    said = refusal(path)
    assert "made by version 9.0, is newer than this version" in said
    assert "unknown: runs.0999_newer). Install the version that made it" in said


def test_a_backup_in_a_newer_format_is_refused(make: Make) -> None:
    assert "made by a newer version (9.0): upgrade first" in refusal(make(observatory="9.0", format=2))


def test_a_key_of_the_environment_must_be_the_backups(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    another = "another key, of 32 characters or more"
    monkeypatch.setenv("OBSERVATORY_SECRET_KEY", another)
    said = refusal(make())
    assert said.startswith("OBSERVATORY_SECRET_KEY is not the backup's")
    assert another not in said


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none") == f"{tmp_path / 'none'} cannot be read: No such file or directory"


def test_an_existing_file_is_not_overwritten(make: Make) -> None:
    with pytest.raises(StartupError, match="exists: choose another name"), writing(make()):
        pass


def test_nothing_is_left_of_a_backup_for_which_the_disk_is_too_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(making, "readable_database", lambda: writing(tmp_path / "unused"))
    monkeypatch.setattr(making, "_write", fill)
    with pytest.raises(CommandError, match=r"the disk of .* is full"):
        call_command("backup", tmp_path / "b.backup")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_key_has_nothing_to_back_up(tmp_path: Path, settings: Any) -> None:
    settings.SECRET_KEY_IS_NEW = True
    with pytest.raises(CommandError, match="there is no secret key"):
        call_command("backup", tmp_path / "b.backup")


def test_the_oldest_client_that_fits_the_server_is_taken() -> None:
    path, version = find_client("pg_dump", 10)
    assert path.name == "pg_dump"
    assert 10 <= version <= 18
    assert find_client("pg_dump", 18)[1] >= 18


def test_a_missing_client_is_said_with_what_to_install() -> None:
    with pytest.raises(StartupError, match="pg_dump of PostgreSQL 99 or newer is needed"):
        find_client("pg_dump", 99)
