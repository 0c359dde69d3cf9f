"""Stores batches of the quarantine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import psycopg

from observatory.clusters.models import Cluster
from observatory.collect.quarantine.encoding import decoded
from observatory.collect.quarantine.folder import STORING, SUFFIX, remove
from observatory.store.ingest.writer import Writer


@dataclass(frozen=True, slots=True)
class Retried:
    path: Path
    stored: int = 0
    """records"""
    left_out: int = 0
    """records that no table can hold, or that the database refused"""
    is_removed: bool = False
    """the file is removed, because its cluster was deleted"""
    error: str = ""
    """why the batch stays where it is; "" if it is stored"""


def retry(path: Path, writer: Writer) -> Retried:
    """Stores the batch of a file and removes the file. A file that another process stores now is skipped."""
    try:
        about, batch, unreadable = decoded(path.read_bytes())
    except (OSError, ValueError) as error:
        return Retried(path, error=" ".join(str(error).split()))
    if not Cluster.objects.filter(pk=about.cluster).exists():
        remove(path)
        return Retried(path, left_out=about.records, is_removed=True)
    storing = path.with_suffix(STORING)
    try:
        path.rename(storing)
        committed = writer.write(batch)
    except (psycopg.Error, OSError, ValueError) as error:
        storing.rename(path.with_suffix(SUFFIX))
        return Retried(path, error=" ".join(str(error).split())[:500])
    storing.unlink()
    left_out = unreadable + committed.refused + committed.dropped.total()
    return Retried(path, about.records - left_out, left_out)
