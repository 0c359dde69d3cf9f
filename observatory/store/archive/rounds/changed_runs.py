"""Which archived clusters have other runs than their files: renamed, pinned, explained, … since."""

from __future__ import annotations

import psycopg

from observatory.store.archive.files.run_tables import read_digests

PARTS = 60
"""in which runs of archived clusters are compared with their files: one a minute"""


def clusters_with_other_runs(connection: psycopg.Connection, part: int) -> dict[int, str]:
    """The archived clusters of which other things are known of runs than in their files: digests by id.

    Looks at one part of PARTS of all clusters.
    """
    rows = connection.execute(
        "SELECT cluster_id, runs FROM archived_cluster WHERE cluster_id %% %s = %s AND sequence >= 0",
        [PARTS, part % PARTS],
    )
    known: dict[int, str] = dict(rows.fetchall())
    found = read_digests(connection, known)
    return {cluster: digest for cluster, digest in found.items() if digest != known[cluster]}
