"""Counts the bytes of clusters, by when their records are from: what quotas of projects go by.

Bytes are those of the archive's files and of rows in the tables, without indexes and before TimescaleDB
compresses them, so that what was deleted no longer counts, whatever room its table still takes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import psycopg
from psycopg import sql

from observatory.store.archive import catalogue, presence
from observatory.store.archive.catalogue import Piece
from observatory.store.archive.files.stretches import counted, start_of
from observatory.store.maintenance.retained_windows import RetainedWindow
from observatory.store.queries.cluster_rows import tile_bytes
from observatory.store.queries.extents import Extent, read_extent
from observatory.store.schema.time_series import TimeSeries, time_series
from observatory.store.times import from_seconds

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SAMPLED = 500
"""rows of which the average size is taken"""


@dataclass(frozen=True, slots=True)
class Share:
    """What is stored of a cluster from [start, stop), and goes together."""

    cluster: int
    start: datetime
    stop: datetime
    bytes: int


@dataclass(frozen=True, slots=True)
class StoredBytes:
    shares: list[Share]
    others: int
    """of tiles, and of what files of the archive have beside records"""

    @property
    def total(self) -> int:
        return self.others + sum(share.bytes for share in self.shares)

    def cutoff(self, most: int, latest: datetime, retained: Sequence[RetainedWindow] = ()) -> datetime | None:
        """The time before which everything has to go so that at most `most` bytes stay; None: nothing has to.

        What overlaps the `retained` windows stays and counts. It is `latest` at the latest.
        """
        kept = [share for share in self.shares if _overlaps(share, retained)]
        room = most - self.others - sum(share.bytes for share in kept)
        others = sorted(set(self.shares) - set(kept), key=lambda share: share.stop, reverse=True)
        for share in others:
            room -= share.bytes
            if room < 0:
                return min(share.stop, latest)
        return None


def stored_bytes(connection: psycopg.Connection, clusters: Collection[int]) -> StoredBytes:
    """Reads all rows of the clusters that are in their tables and not all archived. Raises psycopg.Error."""
    shares: list[Share] = []
    others = tile_bytes(connection, list(clusters))
    for cluster in clusters:
        pieces = catalogue.pieces(connection, cluster)
        records = {table.name for table in time_series()}
        of_records = [piece for piece in pieces if piece.kind in records]
        shares += (Share(cluster, piece.start, piece.stop, piece.bytes) for piece in of_records)
        others += sum(piece.bytes for piece in pieces if piece.kind not in records)
        extent = read_extent(connection, cluster)
        if extent is not None and extent.last:
            shares += _in_tables(connection, cluster, extent, of_records)
    return StoredBytes(shares, others)


def _in_tables(
    connection: psycopg.Connection, cluster: int, extent: Extent, pieces: Sequence[Piece]
) -> Iterator[Share]:
    removed = presence.removed_kinds(connection, cluster)
    is_archived = connection.execute(
        "SELECT FROM archived_cluster WHERE cluster_id = %s AND sequence = %s", [cluster, extent.sequence]
    ).fetchone()
    for table in time_series():
        if table.name in removed:
            continue
        if is_archived:
            rows = [(piece.start, piece.stop, piece.rows) for piece in pieces if piece.kind == table.name]
        else:
            first = start_of((from_seconds(extent.first) - DAY).date())
            hours = counted(connection, table, cluster, HOUR, first, from_seconds(extent.last) + DAY)
            rows = [(hour, hour + HOUR, count) for hour, count in hours]
        if rows:
            size = _row_size(connection, table, cluster)
            yield from (Share(cluster, start, stop, round(count * size)) for start, stop, count in rows)


def _row_size(connection: psycopg.Connection, table: TimeSeries, cluster: int) -> float:
    """Bytes of a row of the table, on average of some."""
    query = sql.SQL(
        """SELECT avg(pg_column_size(stored)) FROM (
               SELECT * FROM {} WHERE cluster_id = {} LIMIT {}) AS stored"""
    ).format(sql.Identifier(table.name), cluster, SAMPLED)
    row = connection.execute(query).fetchone()
    return float(row[0] or 0) if row else 0.0


def _overlaps(share: Share, windows: Sequence[RetainedWindow]) -> bool:
    return any(
        window.cluster == share.cluster and share.start < window.stop and share.stop > window.start
        for window in windows
    )
