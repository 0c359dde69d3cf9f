"""Files of jobs, in `exchange/` in the data folder, which web and worker share."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from django.conf import settings

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600


def path_of(job: int) -> Path:
    return _folder() / str(job)


def create(job: int) -> BinaryIO:
    """Creates the job's file. Raises OSError."""
    folder = _folder()
    folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    folder.chmod(PRIVATE_FOLDER)
    descriptor = os.open(path_of(job), os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, PRIVATE_FILE)
    return os.fdopen(descriptor, "w+b")


def remove(job: int) -> None:
    with suppress(FileNotFoundError, NotADirectoryError):
        path_of(job).unlink()


def remove_older(seconds: float) -> int:
    """Removes older files, with or without a job; returns their number."""
    oldest = time.time() - seconds
    old = [path for path in _folder().glob("*") if path.stat().st_mtime < oldest]
    for path in old:
        path.unlink(missing_ok=True)
    return len(old)


def _folder() -> Path:
    return Path(settings.DATA_DIR) / "exchange"
