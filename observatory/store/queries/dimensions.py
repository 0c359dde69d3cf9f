"""Reads what a cluster consists of: its workers, lanes, prefixes and series."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg

from observatory.store.workers.processes import process_number
from observatory.store.workers.slots import SLOT
from observatory.store.workers.tags import tags_of
from observatory.store.workers.thresholds import thresholds_of

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Dimensions:
    """The workers, lanes and series of a cluster, as the API lists them.

    An item of `series` has all series of one metric and the same labels: a thousand workers have 13,000.
    """

    workers: list[Item]
    lanes: list[Item]
    series: list[Item]


def read_dimensions(connection: psycopg.Connection, cluster: int, metrics: Sequence[str]) -> Dimensions:
    """Return all workers and lanes of the cluster, and the series of `metrics`."""
    workers = _items(
        connection,
        f"""SELECT id, address, name, host, {SLOT} AS slot, nthreads, memory_limit,
               extract(epoch FROM started)::float8 AS started, extract(epoch FROM ended)::float8 AS ended,
               end_reason, status, position, resources, detail
           FROM worker WHERE cluster_id = %s ORDER BY started, id""",
        [cluster],
    )
    for worker in workers:
        detail = worker.pop("detail")
        worker["tags"] = tags_of(worker.pop("resources"), detail)
        worker["process"] = process_number(detail)
        worker["thresholds"] = thresholds_of(detail)
    series = _items(
        connection,
        """SELECT metric, labels,
               array_agg(id ORDER BY id) AS ids, array_agg(worker_id ORDER BY id) AS workers
           FROM series WHERE cluster_id = %s AND metric = ANY(%s) GROUP BY metric, labels ORDER BY min(id)""",
        [cluster, list(metrics)],
    )
    return Dimensions(
        workers,
        _items(
            connection,
            """SELECT id, worker_id AS worker, thread, position FROM lane
               WHERE cluster_id = %s ORDER BY worker_id, position""",
            [cluster],
        ),
        series,
    )


def prefix_ids(connection: psycopg.Connection, cluster: int) -> set[int]:
    """Return the ids of all prefixes of the cluster."""
    rows = connection.execute("SELECT id FROM prefix WHERE cluster_id = %s", [cluster])
    return {id for (id,) in rows.fetchall()}


def read_prefixes(connection: psycopg.Connection, cluster: int, ids: Iterable[int]) -> list[Item]:
    """Return the prefixes of the cluster that have one of the ids: `id`, `name` and `color`, by id."""
    query = "SELECT id, name, color FROM prefix WHERE cluster_id = %s AND id = ANY(%s) ORDER BY id"
    return _items(connection, query, [cluster, list(ids)])


def dimensions_version(connection: psycopg.Connection, cluster: int) -> str:
    """Return a text that differs once the cluster's workers, lanes, prefixes or series differ."""
    row = connection.execute(
        """SELECT concat_ws('-',
               (SELECT sum(hashtextextended(worker::text, 0)) FROM worker WHERE cluster_id = %(cluster)s),
               (SELECT count(*) FROM lane WHERE cluster_id = %(cluster)s),
               (SELECT count(*) FROM prefix WHERE cluster_id = %(cluster)s),
               (SELECT count(*) FROM series WHERE cluster_id = %(cluster)s))""",
        {"cluster": cluster},
    ).fetchone()
    return str(row[0]) if row else ""


def _items(connection: psycopg.Connection, query: LiteralString, parameters: Sequence[Any]) -> list[Item]:
    cursor = connection.execute(query, parameters)
    labels = [column.name for column in cursor.description or ()]
    return [dict(zip(labels, row, strict=True)) for row in cursor.fetchall()]
