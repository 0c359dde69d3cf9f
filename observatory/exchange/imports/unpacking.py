"""Opens a file of a user, unpacked if it is compressed, with a limit on its unpacked size."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from observatory.exchange.imports.allowance import Allowance
from observatory.exchange.imports.refusal import Refused

GZIP = b"\x1f\x8b"
HEAD = 4096


@contextmanager
def opened(path: Path, limit: int) -> Iterator[BinaryIO]:
    """The file, unpacked if it is gzip.

    Reading more than `limit` bytes, or more than a file of its size may unpack to, raises Refused. So do
    damaged bytes.
    """
    allowed = min(limit, Allowance(path.stat().st_size).unpacked)
    with path.open("rb") as file:
        is_packed = file.read(2) == GZIP
        file.seek(0)
        try:
            plain: BinaryIO | gzip.GzipFile = gzip.GzipFile(fileobj=file) if is_packed else file
            yield io.BufferedReader(_Bounded(plain, allowed))
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise Refused(f"The file is damaged or cut off: {error}.") from None


def head_of(path: Path) -> bytes:
    """The first bytes of the file, unpacked if it is gzip. Raises Refused."""
    with opened(path, 1 << 20) as file:
        return file.read(HEAD)


class _Bounded(io.RawIOBase):
    def __init__(self, file: BinaryIO | gzip.GzipFile, limit: int) -> None:
        self._file = file
        self._left = self._limit = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._file.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise Refused(
                f"The file has more than {self._limit >> 20} MiB unpacked, more than is read of its kind."
            )
        buffer[: len(data)] = data
        return len(data)
