"""What a read needs is in the tables before it: archived rows that left are brought back."""

from __future__ import annotations

from collections.abc import Collection
from time import monotonic

import psycopg

from observatory.store.archive import presence
from observatory.store.connection import connect
from observatory.store.places.askers import PATIENCE
from observatory.store.reading.connections import ReadingConnection

REMEMBERED = 60.0
"""seconds for which a process takes it as known that a cluster is not listed, or that a use was noted"""
MOST_REMEMBERED = 20_000
SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ"
"""as timeline.snapshot begins one"""

_is_anything_listed, _known_until = False, 0.0
"""whether any cluster is listed, and until when, by time.monotonic(), this is known"""
_unlisted: dict[int, float] = {}
"""clusters that are not listed, and until when"""
_noted: dict[tuple[int, str], float] = {}
"""kinds whose rows are in their tables, and until when"""


def require(connection: psycopg.Connection, clusters: Collection[int], kinds: Collection[str]) -> None:
    """Have the rows of kinds of clusters in the tables, as `connection` sees them.

    Raises ArchiveError while the archive can't be reached, BeingFetched where that takes longer than the
    request waits, and psycopg.Error.
    """
    now = monotonic()
    listed = {cluster for cluster in clusters if _unlisted.get(cluster, 0.0) < now}
    if not listed:
        return
    wanted = {(cluster, kind) for cluster in listed for kind in kinds}
    if any(_noted.get(each, 0.0) < now for each in wanted):
        listed &= _have_in_tables(listed, kinds)
        _remember(now + REMEMBERED, wanted, listed)
    if listed and connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS:
        _see(connection, listed, kinds)


def is_anything_listed(connection: psycopg.Connection) -> bool:
    """Whether any cluster's rows left their tables, or may."""
    global _is_anything_listed, _known_until
    now = monotonic()
    if now >= _known_until:
        _is_anything_listed = presence.is_any_listed(connection)
        _known_until = now + REMEMBERED
    return _is_anything_listed


def forget() -> None:
    """Forget what this process remembers, such as of another database."""
    global _known_until
    _known_until = 0.0
    _unlisted.clear()
    _noted.clear()


def _have_in_tables(clusters: Collection[int], kinds: Collection[str]) -> set[int]:
    """Note the use, and bring back what is not there; returns the clusters that are listed."""
    # not the reader's connection: it may be in a transaction that can't write, or lasts for long
    with connect() as connection:
        listed, removed = presence.note_use(connection, clusters, kinds)
    if removed:
        # import pyarrow: 28 MB and 0.3 s, which each process would spend
        from observatory.store.archive.restoring.bringing_back import bring_back
        from observatory.store.archive.restoring.fetching import fetch

        patience = PATIENCE.get()
        for cluster in sorted({cluster for cluster, _ in removed}):
            of_cluster = sorted(kind for of, kind in removed if of == cluster)
            if patience is None:
                bring_back(cluster, of_cluster)
            else:
                fetch(cluster, of_cluster, patience)
    return listed


def _remember(until: float, wanted: Collection[tuple[int, str]], listed: Collection[int]) -> None:
    for remembered in (_unlisted, _noted):
        if len(remembered) > MOST_REMEMBERED:
            remembered.clear()
    for cluster, kind in wanted:
        if cluster in listed:
            _noted[cluster, kind] = until
        else:
            _unlisted[cluster] = until


def _see(connection: psycopg.Connection, clusters: Collection[int], kinds: Collection[str]) -> None:
    """Begin a new snapshot if the transaction's is one from before the rows came back.

    What was read before is the same in the new one: clusters that are listed ended long ago.
    """
    row = connection.execute(
        """SELECT current_setting('transaction_isolation') = 'repeatable read' AND EXISTS (
               SELECT FROM archived_rows WHERE cluster_id = ANY(%s) AND kind = ANY(%s) AND is_removed)""",
        [list(clusters), list(kinds)],
    ).fetchone()
    if row and row[0]:
        connection.execute("COMMIT")
        if isinstance(connection, ReadingConnection):
            connection.scanned.clear()
        connection.execute(SNAPSHOT)
