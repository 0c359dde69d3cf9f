"""Which archived rows are in their tables, and when somebody last needed them: the table `archived_rows`.

A kind of a cluster is listed before its rows may leave for the first time. From then on readers note that
they need it, and what they need stays for `UNUSED` at least: a reader that found rows in their table has
them until it is done. A cluster that is not listed has all of its rows in their tables.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

import psycopg

from observatory.wire.kinds import stored_kinds

NOTED = timedelta(minutes=1)
"""for which a noted use is as good as a new one"""
UNUSED, SHORTLY_UNUSED = timedelta(hours=1), timedelta(minutes=10)
"""after the last use, before which rows do not leave; the second where too many are in the tables. Readers
take what they noted for `archive.needed.REMEMBERED` seconds as still so, which is much shorter"""
MOST_ROWS = 20_000_000
"""of listed kinds in their tables, beyond which they leave sooner: a few GB"""


NO_CLUSTER = 0


def is_any_listed(connection: psycopg.Connection) -> bool:
    return connection.execute("SELECT FROM archived_rows LIMIT 1").fetchone() is not None


def announce(connection: psycopg.Connection) -> None:
    """Have `is_any_listed` hold before the first cluster is listed."""
    connection.execute(
        """INSERT INTO archived_rows (cluster_id, kind, is_removed) VALUES (%s, '', false)
           ON CONFLICT DO NOTHING""",
        [NO_CLUSTER],
    )


def list_kinds(connection: psycopg.Connection, cluster: int) -> None:
    """List the kinds of which a cluster has files: their rows may leave once they were unused for long."""
    connection.execute(
        """INSERT INTO archived_rows (cluster_id, kind, is_removed)
           SELECT DISTINCT cluster_id, kind, false FROM archive_piece
           WHERE cluster_id = %s AND state = 'stored' AND kind = ANY(%s)
           ON CONFLICT DO NOTHING""",
        [cluster, [kind.name for kind in stored_kinds()]],
    )


def note_use(
    connection: psycopg.Connection, clusters: Collection[int], kinds: Collection[str]
) -> tuple[set[int], set[tuple[int, str]]]:
    """Note that kinds of clusters are needed now; waits for who is removing their rows.

    Returns the clusters that are listed, and the (cluster, kind) whose rows are not in their tables.
    """
    asked = {"clusters": list(clusters), "kinds": list(kinds), "noted": NOTED}
    connection.execute(
        """UPDATE archived_rows SET used = now()
           WHERE cluster_id = ANY(%(clusters)s) AND kind = ANY(%(kinds)s) AND used < now() - %(noted)s""",
        asked,
    )
    rows = connection.execute(
        "SELECT cluster_id, kind, is_removed FROM archived_rows WHERE cluster_id = ANY(%(clusters)s)", asked
    ).fetchall()
    return {cluster for cluster, _, _ in rows}, {
        (cluster, kind) for cluster, kind, is_removed in rows if is_removed and kind in kinds
    }


def removed_kinds(connection: psycopg.Connection, cluster: int) -> list[str]:
    """The kinds whose rows are not in their tables, except for those that came late."""
    rows = connection.execute(
        "SELECT kind FROM archived_rows WHERE cluster_id = %s AND is_removed ORDER BY kind", [cluster]
    )
    return [kind for (kind,) in rows]


def note_brought_back(connection: psycopg.Connection, cluster: int, kind: str) -> None:
    """As part of the transaction that brings the rows back."""
    connection.execute(
        """UPDATE archived_rows SET is_removed = false, used = clock_timestamp()
           WHERE cluster_id = %s AND kind = %s""",
        [cluster, kind],
    )


def note_removed(connection: psycopg.Connection, cluster: int, kind: str, unused: timedelta) -> bool:
    """As part of the transaction that removes the rows. False if somebody has needed them since."""
    return bool(
        connection.execute(
            """UPDATE archived_rows SET is_removed = true
               WHERE cluster_id = %s AND kind = %s AND NOT is_removed AND used < now() - %s""",
            [cluster, kind, unused],
        ).rowcount
    )


def unused_kinds(connection: psycopg.Connection, cluster: int, unused: timedelta) -> list[str]:
    """The listed kinds whose rows are in their tables, and that nobody needed for so long."""
    rows = connection.execute(
        """SELECT kind FROM archived_rows
           WHERE cluster_id = %s AND NOT is_removed AND used < now() - %s ORDER BY kind""",
        [cluster, unused],
    )
    return [kind for (kind,) in rows]


def is_full(connection: psycopg.Connection) -> bool:
    """Whether more than MOST_ROWS of listed kinds are in their tables."""
    row = connection.execute(
        """SELECT coalesce(sum(rows), 0) > %s FROM archive_piece JOIN archived_rows USING (cluster_id, kind)
           WHERE state = 'stored' AND NOT is_removed""",
        [MOST_ROWS],
    ).fetchone()
    return bool(row and row[0])


def try_later(connection: psycopg.Connection, cluster: int, kind: str) -> None:
    """Have rows that can't leave now looked at again only once UNUSED is over."""
    connection.execute(
        "UPDATE archived_rows SET used = now() WHERE cluster_id = %s AND kind = %s", [cluster, kind]
    )


def forget_cluster(connection: psycopg.Connection, cluster: int) -> None:
    """As part of the transaction that deletes the cluster's rows."""
    connection.execute("DELETE FROM archived_rows WHERE cluster_id = %s", [cluster])


def filtered_by(connection: psycopg.Connection, cluster: int, kind: str) -> str:
    """For what retention last had the rows brought back."""
    row = connection.execute(
        "SELECT filtered FROM archived_rows WHERE cluster_id = %s AND kind = %s", [cluster, kind]
    ).fetchone()
    return row[0] if row else ""


def note_filtered(connection: psycopg.Connection, cluster: int, kind: str, by: str) -> None:
    connection.execute(
        "UPDATE archived_rows SET filtered = %s WHERE cluster_id = %s AND kind = %s", [by, cluster, kind]
    )


def count_removed(connection: psycopg.Connection, clusters: Collection[int]) -> int:
    """The number of archived rows of clusters that are not in their tables."""
    row = connection.execute(
        """SELECT coalesce(sum(rows), 0)::bigint
           FROM archive_piece JOIN archived_rows USING (cluster_id, kind)
           WHERE cluster_id = ANY(%s) AND state = 'stored' AND is_removed""",
        [list(clusters)],
    ).fetchone()
    return int(row[0]) if row else 0


def count_removed_before(connection: psycopg.Connection, cutoffs: Mapping[int, datetime]) -> int:
    """Of those the number on days that are over before the times of their clusters."""
    row = connection.execute(
        """SELECT coalesce(sum(rows), 0)::bigint
           FROM unnest(%s::int[], %s::timestamptz[]) AS asked (cluster_id, cutoff)
           JOIN archive_piece USING (cluster_id) JOIN archived_rows USING (cluster_id, kind)
           WHERE state = 'stored' AND is_removed AND stop <= cutoff""",
        [list(cutoffs), list(cutoffs.values())],
    ).fetchone()
    return int(row[0]) if row else 0
