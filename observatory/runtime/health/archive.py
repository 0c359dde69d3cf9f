"""The archive's state, for `doctor` and /metrics."""

from __future__ import annotations

from django.conf import settings

from observatory.clusters.formatting import format_bytes, format_count
from observatory.store.archive import catalogue
from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.rounds.waiting import Progress, read_progress
from observatory.store.connection import connect


def progress() -> Progress:
    """Raises psycopg.Error."""
    with connect() as connection:
        return read_progress(connection)


def sentence(found: Progress) -> str:
    """As in "clusters archived: 12, waiting: 3; files: 340 (1.20 GiB)"."""
    clusters = f"clusters archived: {format_count(found.archived)}, waiting: {format_count(found.waiting)}"
    alone = f"; rows that left the tables: {format_count(found.removed)}" if found.removed else ""
    return f"{clusters}; files: {format_count(found.files)} ({format_bytes(found.bytes)}){alone}"


def fault(found: Progress) -> tuple[str, str]:
    """What is wrong with the archive, and what to do; empty texts if nothing is. Raises psycopg.Error."""
    if not settings.ARCHIVE:
        if found.removed:
            rows = f"{format_count(found.removed)} rows are in the archive alone"
            return f"{rows}, and there is none", "set OBSERVATORY_ARCHIVE as it was"
        if found.leftovers:
            files = f"{format_count(found.leftovers)} files of deleted records"
            return f"{files} can't be removed: there is no archive", "set OBSERVATORY_ARCHIVE as it was"
        return "", ""
    # imports pyarrow: 28 MB and 0.3 s, which each process would spend
    from observatory.store.archive.place import required_place

    try:
        with connect() as connection:
            required_place().check(catalogue.is_used(connection))
    except ArchiveError as error:
        waits = "what waits is archived, and what is archived can be read, once it is back"
        return str(error), f"recording goes on, and nothing is lost; {waits}"
    return "", ""


def scan_cluster() -> tuple[bool, str]:
    """Whether the Dask cluster that scans archived files can be used, and what it has or lacks."""
    # imports distributed
    from observatory.store.archive.place import required_place
    from observatory.store.archive.scans.on_dask import Unusable, check

    try:
        workers = check(required_place())
    except (Unusable, ArchiveError) as error:
        return False, f"{settings.SCAN_SCHEDULER}: {error}"
    return True, f"{settings.SCAN_SCHEDULER}: workers: {format_count(workers)}"
