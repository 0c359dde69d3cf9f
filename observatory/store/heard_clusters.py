"""When agents of clusters were heard, in the rows of these."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import connection as django_connection

UPDATE = """
    UPDATE clusters_cluster AS cluster SET
        last_seen = greatest(cluster.last_seen, to_timestamp(heard.newest)), agent_heard = now()
    FROM unnest(%s::int[], %s::float8[]) AS heard(id, newest)
    WHERE cluster.id = heard.id"""


def note_heard(newest: Mapping[int, float]) -> None:
    """Stores that agents are heard now; by cluster the time (seconds) of the newest record.

    Raises django.db.Error.
    """
    if newest:
        with django_connection.cursor() as cursor:
            cursor.execute(UPDATE, [list(newest), list(newest.values())])
