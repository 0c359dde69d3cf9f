"""The file of a backup: a tar archive, with a manifest that has the checksum of each file in it."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

from observatory.runtime.errors import StartupError

FORMAT = 1
SECRET_KEY = "secret_key"
DATABASE = "database.dump"
EXCHANGE = "exchange"
"""the folder of the files of exports and imports"""
MANIFEST = "manifest.json"
PIECE_BYTES = 1 << 20
PRIVATE_FILE = 0o600
MAXIMUM_MANIFEST = 16 << 20
"""bytes"""


@dataclass(slots=True)
class Manifest:
    """What a backup has, and what it was made of. The last file of the archive."""

    observatory: str
    """the version that made it"""
    created: str
    server: int
    """PostgreSQL's major version"""
    pg_dump: int
    timescale: str | None
    database_bytes: int
    migrations: dict[str, list[str]]
    format: int = FORMAT
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    """the size and the SHA-256 of each file, by its name"""


class BackupFile:
    """A backup that is being written. `progress` is called with the bytes so far, once a second."""

    def __init__(self, file: IO[bytes], progress: Callable[[str, int], object]) -> None:
        self._file = file
        self._progress = progress
        self.files: dict[str, dict[str, Any]] = {}

    def add(self, name: str, source: IO[bytes]) -> None:
        """Append a file of unknown size. Its header is written afterwards."""
        header = self._file.tell()
        self._file.write(bytes(tarfile.BLOCKSIZE))
        digest = hashlib.sha256()
        size, reported = 0, time.monotonic()
        while piece := source.read(PIECE_BYTES):
            self._file.write(piece)
            digest.update(piece)
            size += len(piece)
            if time.monotonic() - reported >= 1:
                reported = time.monotonic()
                self._progress(name, size)
        self._file.write(bytes(-size % tarfile.BLOCKSIZE))
        end = self._file.tell()
        self._file.seek(header)
        self._file.write(_header(name, size))
        self._file.seek(end)
        self.files[name] = {"bytes": size, "sha256": digest.hexdigest()}

    def finish(self, manifest: Manifest) -> None:
        """Append the manifest and the archive's end."""
        manifest.files = self.files
        content = json.dumps(asdict(manifest), indent=1).encode()
        self._file.write(_header(MANIFEST, len(content)) + content)
        self._file.write(bytes(-len(content) % tarfile.BLOCKSIZE + 2 * tarfile.BLOCKSIZE))


@contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """A file that gets its name when the block ends without an error. Raises StartupError."""
    if path.exists():
        raise StartupError(f"{path} exists: choose another name, or remove it")
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        unfinished.unlink(missing_ok=True)
        descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    except OSError as error:
        raise StartupError(f"{path} cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(path)
    finally:
        unfinished.unlink(missing_ok=True)


class Backup:
    """A backup that is being read, inside a `with` block. Raises StartupError if it is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._tar = tarfile.open(path, "r:")  # noqa: SIM115  (closed by __exit__)
            self.manifest = self._read_manifest()
        except (tarfile.TarError, KeyError, ValueError, TypeError):
            raise StartupError(f"{path} is not a complete backup of Dask Observatory") from None
        except OSError as error:
            raise StartupError(f"{path} cannot be read: {error.strerror}") from None

    def __enter__(self) -> Backup:
        return self

    def __exit__(self, *_: object) -> None:
        self._tar.close()

    @property
    def files(self) -> list[str]:
        return list(self.manifest.files)

    def open(self, name: str) -> BufferedReader:
        file = self._tar.extractfile(name)
        if not isinstance(file, BufferedReader):
            raise StartupError(f"{self.path}: {name} is not a file")
        return file

    def read(self, name: str) -> bytes:
        with self.open(name) as file:
            return file.read()

    def check(self, progress: Callable[[str], object]) -> None:
        """Compare the checksums. Raises StartupError."""
        for name, expected in self.manifest.files.items():
            progress(f"{name}: checking …")
            try:
                with self.open(name) as file:
                    found = hashlib.file_digest(file, "sha256").hexdigest()
            except (KeyError, tarfile.TarError, OSError):
                found = "nothing"
            if found != expected["sha256"]:
                raise StartupError(f"{self.path} is damaged: the checksum of {name} is another")

    def _read_manifest(self) -> Manifest:
        entry = self._tar.getmember(MANIFEST)
        if entry.size > MAXIMUM_MANIFEST:
            raise ValueError("the manifest is too large")
        content = json.loads(self.read(MANIFEST))
        if content["format"] > FORMAT:
            raise StartupError(
                f"{self.path} was made by a newer version ({content['observatory']}): upgrade first"
            )
        manifest = Manifest(**content)
        if not {SECRET_KEY, DATABASE} <= set(manifest.files):
            raise ValueError("files are missing")
        return manifest


def _header(name: str, size: int) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime = size, PRIVATE_FILE, int(time.time())
    return entry.tobuf(tarfile.GNU_FORMAT)
