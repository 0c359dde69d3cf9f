"""The folder `quarantine/` of the data folder: a file for each batch. Processes of one machine share it."""

from __future__ import annotations

import errno
import gzip
import logging
import os
import time
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from uuid import uuid4

from django.conf import settings

from observatory.collect.quarantine.encoding import About, about_of, encoded
from observatory.store.ingest.batches.batch import Batch

log = logging.getLogger(__name__)

SUFFIX = ".batch"
STORING = ".storing"
"""the suffix while a file's batch is stored: a crash may leave it, then it is unknown whether it was"""
LIMIT = 1 << 30
"""bytes of all files"""
LONGEST_REASON = 500
LONGEST_FIRST_LINE = 16_384
"""bytes"""


def put(batch: Batch, error: Exception) -> Path:
    """Writes a batch to a new file. Raises OSError, and what encoding raises."""
    reason = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_REASON]
    about = About(batch.cluster, len(batch), time.time(), reason, batch.head is not None, batch.errors)
    data = encoded(batch, about)
    parent = folder()
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if sum(path.stat().st_size for path in files()) + len(data) > LIMIT:
        raise OSError(errno.EDQUOT, f"the quarantine has {LIMIT >> 20} MiB", str(parent))
    path = parent / f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{uuid4().hex[:8]}{SUFFIX}"
    unfinished = path.with_suffix(".unfinished")
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
    log.error("cluster %d: %d records are in quarantine, in %s: %s", batch.cluster, len(batch), path, reason)
    return path


def files() -> list[Path]:
    """The files, oldest first."""
    return sorted(_with(SUFFIX)) + sorted(_with(STORING))


def files_of(clusters: Collection[int]) -> list[Path]:
    """The files of batches of these clusters."""
    if not clusters:
        return []
    return [path for path in files() if _cluster_of(path) in clusters]


def remove(path: Path) -> int:
    """Removes a file; returns its bytes, 0 if another process did."""
    try:
        size = path.stat().st_size
        path.unlink()
    except FileNotFoundError:
        return 0
    return size


def folder() -> Path:
    return Path(settings.DATA_DIR) / "quarantine"


def _cluster_of(path: Path) -> int | None:
    """None for a file that cannot be read."""
    try:
        with gzip.open(path) as file:
            return about_of(file.readline(LONGEST_FIRST_LINE)).cluster
    except (OSError, EOFError, zlib.error, ValueError):
        return None


def _with(suffix: str) -> Iterator[Path]:
    return folder().glob(f"*{suffix}")
