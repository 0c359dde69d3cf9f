"""Where the archive's files lie: in a folder, or in an object store by its URL."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from django.conf import settings
from pyarrow import fs

from observatory.store.archive.errors import ArchiveError, DamagedFile

FORMAT = 2
"""the version of the files that are written; docs/archive.md describes it"""
MARK = "observatory-archive.json"
"""a file that says that an archive is here: an empty folder may be one that is not mounted"""
UNFINISHED = ".part"
"""the end of the name of a file that is being written; readers of *.parquet don't see it"""
CHUNK = 4 << 20
"""bytes that are read at once"""
CONNECT_TIMEOUT, REQUEST_TIMEOUT, ATTEMPTS = 5.0, 10.0, 3
"""of object stores that speak S3: seconds, the second without any byte. Pages wait for them"""
REMEDIES = {
    errno.ENOSPC: "its disk is full: free disk space, or shorten the projects' retention",
    errno.EDQUOT: "its quota is used up: raise it, or shorten the projects' retention",
    errno.EACCES: "Observatory's user may not read and write there: give it the right",
    errno.EPERM: "Observatory's user may not read and write there: give it the right",
    errno.EROFS: "it is read-only: mount it writable",
    errno.ENOTDIR: "it is not a folder: correct OBSERVATORY_ARCHIVE",
}
_CREDENTIALS = "the object store refuses Observatory's credentials: correct them, for all processes"
OBJECT_STORE_REMEDIES = {
    "ACCESS_DENIED": f"{_CREDENTIALS}, and let them list, read, write and delete there",
    "EXPIRED_TOKEN": _CREDENTIALS,
    "INVALID_ACCESS_KEY_ID": _CREDENTIALS,
    "SIGNATURE_DOES_NOT_MATCH": _CREDENTIALS,
    "NO_SUCH_BUCKET": "the bucket does not exist: make it, or correct OBSERVATORY_ARCHIVE",
    "NETWORK_CONNECTION": "the object store does not answer: see that it is reachable, and that "
    "OBSERVATORY_ARCHIVE is right",
}
"""by the names of errors in pyarrow's messages"""


class _Hashing:
    """A file that is written, with the SHA-256 of its bytes."""

    closed = False

    def __init__(self, stream: pa.NativeFile) -> None:
        self._stream = stream
        self.digest = hashlib.sha256()
        self.size = 0

    def write(self, data: Any) -> int:
        self._stream.write(data)
        self.digest.update(data)
        self.size += len(data)
        return len(data)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of files. Paths are below it. Methods raise ArchiveError."""

    name: str
    """as the setting has it, without a password"""
    filesystem: fs.FileSystem
    root: str

    def check(self, is_used: bool) -> None:
        """Make the mark if it is missing, which it must not be where the archive `is_used`."""
        if self._has_mark():
            return
        if is_used:
            raise ArchiveError(
                f"The archive at {self.name} has no {MARK}, and the catalogue lists files of it. Mount "
                "the folder, or correct OBSERVATORY_ARCHIVE. If the archive is lost, "
                "`dask-observatory archive run --again` writes anew what is in the tables."
            )
        self.write(MARK, json.dumps({"format": FORMAT}).encode())

    def require_mark(self) -> None:
        """For a database that knows nothing of the archive, which must be there."""
        if not self._has_mark():
            raise ArchiveError(
                f"There is no archive at {self.name}: it has no {MARK}. Mount the folder, or correct "
                "OBSERVATORY_ARCHIVE."
            )

    def _has_mark(self) -> bool:
        with self._explained():
            found = self.filesystem.get_file_info(self._full(MARK))
            return bool(found.type is fs.FileType.File)

    def write(self, path: str, content: bytes) -> None:
        """Write a small file."""
        with self.create(path) as file:
            file.write(content)
        self.finish(path)

    @contextmanager
    def create(self, path: str) -> Iterator[_Hashing]:
        """A new file under a temporary name, which `finish` gives its own name."""
        temporary = self._full(path + UNFINISHED)
        with self._explained():
            if self._is_local:
                _make_folders(os.path.dirname(temporary))
            with self.filesystem.open_output_stream(temporary, compression=None) as stream:
                if self._is_local:
                    _hand_over(temporary)
                yield _Hashing(stream)
            if self._is_local:
                _synchronize(temporary)

    def finish(self, path: str) -> None:
        with self._explained():
            self.filesystem.move(self._full(path + UNFINISHED), self._full(path))
            if self._is_local:
                _synchronize(os.path.dirname(self._full(path)))

    def checksum(self, path: str) -> str:
        """The SHA-256 of a file, which is read."""
        digest = hashlib.sha256()
        with (
            self._explained(),
            self.filesystem.open_input_stream(self._full(path), compression=None) as stream,
        ):
            while chunk := stream.read(CHUNK):
                digest.update(chunk)
        return digest.hexdigest()

    def open(self, path: str) -> pa.NativeFile:
        """Raises DamagedFile where there is no such file."""
        with self._explained():
            try:
                return self.filesystem.open_input_file(self._full(path))
            except FileNotFoundError as error:
                raise DamagedFile(f"{self.name}/{path} is missing.") from error

    def remove(self, path: str) -> None:
        """Remove a file, whether it was finished or not; nothing if there is none."""
        with self._explained():
            found = self.filesystem.get_file_info([self._full(path), self._full(path + UNFINISHED)])
            for info in found:
                if info.type is fs.FileType.File:
                    self.filesystem.delete_file(info.path)

    def files(self) -> list[str]:
        """The paths of all files but the mark."""
        with self._explained():
            found = self.filesystem.get_file_info(fs.FileSelector(self.root, recursive=True))
        below = (
            info.path.removeprefix(self.root).lstrip("/") for info in found if info.type is fs.FileType.File
        )
        return sorted(path for path in below if path != MARK)

    @property
    def _is_local(self) -> bool:
        return bool(self.filesystem.type_name == "local")

    def _full(self, path: str) -> str:
        return f"{self.root}/{path}"

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise ArchiveError(f"The archive at {self.name} can't be used: {_reason(error)}.") from error


def _make_folders(folder: str) -> None:
    """As os.makedirs, with folders for their owner alone, who is that of the folder around them."""
    if not os.path.isdir(folder):
        _make_folders(os.path.dirname(folder))
        with suppress(FileExistsError):
            os.mkdir(folder, mode=0o700)
            _hand_over(folder)


def _hand_over(path: str) -> None:
    """Under root, give what was made to the owner of its folder: the service has a user of its own."""
    if os.geteuid() == 0:
        owner = os.stat(os.path.dirname(path))
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def place() -> Place | None:
    """The place that OBSERVATORY_ARCHIVE names; None without one. Raises ArchiveError."""
    url = settings.ARCHIVE
    if not url:
        return None
    name = _without_password(url)
    if "://" not in url:
        return Place(name, fs.LocalFileSystem(), url.rstrip("/"))
    try:
        filesystem, root = fs.FileSystem.from_uri(url)
    except (OSError, ValueError, pa.ArrowException) as error:
        first = str(error).splitlines()[0]
        raise ArchiveError(f"OBSERVATORY_ARCHIVE, {name}, can't be used: {first}. Correct it.") from error
    return Place(name, _giving_up_soon(filesystem), root.rstrip("/"))


def _giving_up_soon(filesystem: fs.FileSystem) -> fs.FileSystem:
    """The same place, tried ATTEMPTS times: by its URL, pyarrow tries one that speaks S3 30 times."""
    if filesystem.type_name != "s3":
        return filesystem
    [options] = filesystem.__reduce__()[1]  # those of the URL, as pickle gets them
    if not options["proxy_options"]["host"]:
        options["proxy_options"] = None
    return fs.S3FileSystem(
        **{
            **options,
            "request_timeout": REQUEST_TIMEOUT,
            "connect_timeout": CONNECT_TIMEOUT,
            "retry_strategy": fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
        }
    )


def required_place() -> Place:
    """As `place`; ArchiveError says how to get one."""
    found = place()
    if found is None:
        raise ArchiveError(
            "There is no archive: set OBSERVATORY_ARCHIVE to a folder or to the URL of a bucket "
            "(docs/archive.md), for all processes."
        )
    return found


def _reason(error: Exception) -> str:
    number = getattr(error, "errno", None)
    if number in REMEDIES:
        return REMEDIES[number]
    if isinstance(error, FileNotFoundError):
        return f"a file or folder is missing ({' '.join(str(error).split())})"
    text = " ".join(str(error).split()).rstrip(".")
    name = re.search(r"AWS Error (\w+)", text)
    if name and name[1] in OBJECT_STORE_REMEDIES:
        return f"{OBJECT_STORE_REMEDIES[name[1]]} ({text})"
    return f"{text}; see that it is reachable and OBSERVATORY_ARCHIVE is right"


def _synchronize(path: str) -> None:
    """Have the disk keep a file or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _without_password(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{rest.split('@')[-1].split('?')[0]}" if separator else url
