"""Has queries read archived rows that a scan finds in files, where a whole kind need not be brought back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from itertools import chain
from time import monotonic, time
from typing import TYPE_CHECKING, TypeVar

import psycopg
import redis
from django.core.cache import cache

from observatory.store.archive import catalogue, needed, presence
from observatory.store.archive.catalogue import Piece
from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.scans.conditions import Condition
from observatory.store.connection import connect
from observatory.store.places.scan_places import scan_place
from observatory.store.reading.connections import ReadingConnection
from observatory.store.times import EPOCH

if TYPE_CHECKING:  # imports pyarrow, which not each process needs
    from observatory.store.archive.place import Place

MOST_ROWS, LONGEST = 200_000, 5.0
"""rows and seconds of a scan that has an end"""
OPENING, VISIT = 3, 3_600
"""seconds in which a page that is opened reads what it shows first, and for which people look at a cluster"""

Found = TypeVar("Found")
Cover = Callable[[datetime, datetime], datetime]


@contextmanager
def scanned(
    connection: psycopg.Connection,
    cluster: int,
    conditions: Mapping[str, Condition | Sequence[Condition]],
    most: int = MOST_ROWS,
    longest: float = LONGEST,
) -> Iterator[None]:
    """Queries of the block find those archived rows of these kinds that meet a condition, and no others.

    That is for queries that ask for such rows. No row may meet two conditions of its kind. Kinds whose rows
    are in their tables are read there, and those with more than `most` such rows, or where a scan takes over
    `longest` seconds, are brought back. So are those whose files are replaced meanwhile. Raises
    ArchiveError and psycopg.Error.
    """
    with one_snapshot(connection) as reader:
        removed = {} if reader is None else removed_kinds(reader, cluster, conditions)
        if reader is None or not removed:
            yield
            return
        from observatory.store.archive.scans.scan import all_rows
        from observatory.store.archive.scans.shadows import Shadow

        wanted = {
            kind: [(pieces, condition) for condition in _each(conditions[kind])]
            for kind, pieces in removed.items()
        }
        pieces, until = list(chain(*removed.values())), monotonic() + longest
        found = of_files(pieces, lambda place: all_rows(place, wanted, most, until))
        shadows: list[Shadow] = []
        try:
            for kind, rows in (found or {}).items():  # of others queries bring the rows back
                shadows.append(shadow := Shadow(reader, cluster, kind))
                shadow.fill(rows)
            yield
        finally:
            for shadow in shadows:
                shadow.drop()


def scanned_kinds(connection: psycopg.Connection) -> frozenset[str]:
    """The kinds whose rows a scan found in files."""
    return frozenset(connection.scanned) if isinstance(connection, ReadingConnection) else frozenset()


def have_left(connection: psycopg.Connection, cluster: int, kind: str) -> bool:
    """Whether archived rows of a kind are not in their table."""
    return needed.is_anything_listed(connection) and kind in presence.removed_kinds(connection, cluster)


def visit_key(cluster: int) -> str:
    """Of the cache: when somebody began to look at an archived cluster."""
    return f"scanned-rows-{cluster}"


def bring_back_meanwhile(cluster: int, kinds: Collection[str]) -> None:
    """Have kinds that were scanned come back into their tables, except where a page is only opened.

    Who looks at several parts of them will look at others. Nobody waits for it.
    """
    if not kinds:
        return
    now = time()
    with suppress(redis.RedisError):
        key = visit_key(cluster)
        if cache.add(key, now, VISIT) or now - cache.get(key, 0.0) < OPENING:
            return
    from observatory.store.archive.restoring.fetching import fetch_meanwhile

    fetch_meanwhile(cluster, kinds)


def read_tables(connection: psycopg.Connection, kinds: Iterable[str]) -> None:
    """Have queries find all rows of kinds from here on, not those alone that a scan found: they come back."""
    if isinstance(connection, ReadingConnection):
        for kind in connection.scanned.keys() & set(kinds):
            connection.read_table(kind)


def parts(
    connection: psycopg.Connection, cluster: int, kind: str, condition: Condition, stop: datetime
) -> Generator[tuple[datetime, datetime]]:
    """Parts of the time before `stop`, in order: rows of a part are ready for queries until the next one.

    That is for reading all rows once, as exports do: nothing is brought back, unless files are replaced
    meanwhile. A row is in the part of its time. Raises NoPlace, ArchiveError and psycopg.Error.
    """
    place = condition.start or EPOCH
    with scan(connection, cluster, kind, condition, goes_back=False, is_export=True) as cover:
        while place < stop:
            edge = cover(place, stop)
            yield place, edge
            place = edge


@contextmanager
def scan(
    connection: psycopg.Connection,
    cluster: int,
    kind: str,
    condition: Condition,
    *,
    goes_back: bool,
    is_export: bool = False,
) -> Iterator[Cover]:
    """A function that has a part of a stretch ready for queries, and returns where the part ends.

    The first part begins at the stretch's end if the scan `goes_back`, else at its start; each further one
    where the one before ends. Queries of the block find those archived rows of the part that meet the
    condition. Where rows are in their table, and once the files were replaced, the whole stretch is ready.
    Raises NoPlace, ArchiveError and psycopg.Error.
    """
    with one_snapshot(connection) as reader:
        removed = {} if reader is None else removed_kinds(reader, cluster, [kind])
        if reader is None or not removed:
            yield lambda start, stop: start if goes_back else stop
            return
        from observatory.store.archive.scans.scan import Scan
        from observatory.store.archive.scans.shadows import Shadow

        shadow = Shadow(reader, cluster, kind)
        made = Scan(removed[kind], condition, shadow, goes_back, is_export)

        def cover(start: datetime, stop: datetime) -> datetime:
            if shadow.is_there:
                edge = of_files(removed[kind], lambda place: made.cover(place, start, stop))
                if edge is not None:
                    return edge
                shadow.drop()
            return start if goes_back else stop  # queries bring the kind back

        try:
            with scan_place(), closing(made):
                yield cover
        finally:
            shadow.drop()


def of_files(pieces: Sequence[Piece], read: Callable[[Place], Found]) -> Found | None:
    """What `read` finds in files, in a place for scans; None if they do not count any more.

    That is so where late records came since the catalogue was read, retention was due, or the cluster was
    deleted. Raises NoPlace, ArchiveError and psycopg.Error.
    """
    from observatory.store.archive.place import required_place

    place = required_place()
    with scan_place():
        try:
            return read(place)
        except ArchiveError:
            # not the reader's connection: it sees the catalogue as it was
            with connect() as connection:
                if not catalogue.are_stored(connection, [piece.id for piece in pieces]):
                    return None
            place.check(is_used=True)  # says so if the archive is away
            raise


@contextmanager
def one_snapshot(connection: psycopg.Connection) -> Iterator[ReadingConnection | None]:
    """The connection, if queries of the block read from one snapshot, and anything is archived."""
    if not isinstance(connection, ReadingConnection) or not needed.is_anything_listed(connection):
        yield None
    elif connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield connection
    else:
        row = connection.execute("SELECT current_setting('transaction_isolation')").fetchone()
        yield connection if row and row[0] == "repeatable read" else None


def removed_kinds(
    connection: ReadingConnection, cluster: int, kinds: Iterable[str]
) -> dict[str, list[Piece]]:
    """The files of the kinds whose rows are in the archive alone, all of them.

    Late records can be in the tables until the cluster is archived again: then there are none. Raises
    LookupError if a scan of one of the kinds is going on, whose rows would hide others.
    """
    kinds = list(kinds)
    if scanned_now := connection.scanned.keys() & set(kinds):
        raise LookupError(f"a scan of {', '.join(scanned_now)} is going on")
    rows = connection.execute(
        """SELECT kind FROM archived_rows
           JOIN archived_cluster USING (cluster_id) JOIN extent USING (cluster_id)
           WHERE cluster_id = %s AND kind = ANY(%s) AND is_removed
             AND archived_cluster.sequence = extent.sequence""",
        [cluster, kinds],
    ).fetchall()
    removed = {kind for (kind,) in rows}
    pieces = catalogue.pieces(connection, cluster) if removed else []
    return {kind: [piece for piece in pieces if piece.kind == kind] for kind in sorted(removed)}


def _each(conditions: Condition | Sequence[Condition]) -> Sequence[Condition]:
    return [conditions] if isinstance(conditions, Condition) else conditions
