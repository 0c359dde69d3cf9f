"""Has all rows of an archived cluster in the archive alone, as if nobody had needed them for long."""

from __future__ import annotations

import time
from typing import Any

from observatory.store.archive import needed, presence
from observatory.store.archive.place import required_place
from observatory.store.archive.removal.departure import remove_rows
from observatory.store.archive.rounds.pace import Pace
from observatory.store.archive.rounds.round import archive_round
from observatory.store.connection import connect

LONGEST_FETCH = 600.0
"""seconds"""


def leave_tables(cluster: int, is_read_elsewhere: bool = False) -> None:
    """Archive a cluster and remove its rows from their tables.

    `is_read_elsewhere`: waits until no other process takes it as known that they are there. Meanwhile the
    worker may need them, as the cluster ended lately: then they leave again.
    """
    with connect() as connection:
        while not presence.is_any_listed(connection) or not _is_removed(connection, cluster):
            archive_round(float("inf"))
            presence.list_kinds(connection, cluster)
            connection.execute("UPDATE archived_rows SET used = now() - interval '1 day'")
            needed.forget()
            remove_rows(cluster, required_place(), Pace())
            connection.execute("VACUUM ANALYZE")
            connection.execute("CHECKPOINT")
            if is_read_elsewhere:
                time.sleep(needed.REMEMBERED + 1)


def wait_for_rows(cluster: int, kinds: set[str]) -> None:
    """Wait until rows of these kinds are in their tables again."""
    until = time.monotonic() + LONGEST_FETCH
    with connect() as connection:
        while kinds & set(presence.removed_kinds(connection, cluster)):
            assert time.monotonic() < until, "rows did not come back"
            time.sleep(0.2)


def _is_removed(connection: Any, cluster: int) -> bool:
    row = connection.execute(
        "SELECT count(*) FILTER (WHERE NOT is_removed), count(*) FROM archived_rows WHERE cluster_id = %s",
        [cluster],
    ).fetchone()
    return row is not None and row[0] == 0 and row[1] > 0
