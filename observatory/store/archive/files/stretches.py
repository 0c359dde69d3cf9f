"""Divides the rows of a day into files and row groups, by counts of each minute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise

import psycopg
from psycopg import sql

from observatory.store.schema.time_series import TimeSeries

ROWS_OF_A_GROUP, ROWS_OF_A_FILE = 131_072, 2_097_152
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


@dataclass(slots=True)
class Stretch:
    """A stretch of time [start, stop) and the number of its rows; in parts, if it is that of a file."""

    start: datetime
    stop: datetime
    rows: int
    parts: list[Stretch] = field(default_factory=list)


def start_of(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def rows_by_day(
    connection: psycopg.Connection, table: TimeSeries, cluster: int, first: datetime, last: datetime
) -> dict[date, int]:
    """The numbers of rows of a cluster on the days (UTC) from `first` to `last`."""
    return {
        moment.date(): rows
        for moment, rows in counted(connection, table, cluster, DAY, start_of(first.date()), last + DAY)
    }


def files_of_day(connection: psycopg.Connection, table: TimeSeries, cluster: int, day: date) -> list[Stretch]:
    """The files of a day's rows, each with its row groups as parts, which have more rows if a minute has."""
    start, stop = start_of(day), start_of(day) + DAY
    minutes = [
        Stretch(moment, moment + MINUTE, rows)
        for moment, rows in counted(connection, table, cluster, MINUTE, start, stop)
    ]
    files = [
        Stretch(parts[0].start, parts[-1].stop, sum(part.rows for part in parts), parts)
        for parts in _joined([_whole(group) for group in _joined(minutes, ROWS_OF_A_GROUP)], ROWS_OF_A_FILE)
    ]
    if files:  # together the day, whatever minutes have rows
        files[0].start, files[-1].stop = start, stop
        for before, after in pairwise(files):
            before.stop = after.start
    return files


def counted(
    connection: psycopg.Connection,
    table: TimeSeries,
    cluster: int,
    width: timedelta,
    start: datetime,
    stop: datetime,
) -> list[tuple[datetime, int]]:
    """The numbers of rows from [start, stop), by the times at which stretches of this width begin."""
    query = sql.SQL(
        """SELECT date_bin(%(width)s, {time}, %(start)s) AS moment, count(*) FROM {table}
           WHERE cluster_id = %(cluster)s AND {time} >= %(start)s AND {time} < %(stop)s
           GROUP BY moment ORDER BY moment"""
    ).format(table=sql.Identifier(table.name), time=sql.Identifier(table.time))
    return connection.execute(
        query, {"cluster": cluster, "width": width, "start": start, "stop": stop}
    ).fetchall()


def _joined(stretches: Sequence[Stretch], most: int) -> Iterator[list[Stretch]]:
    """Neighbours together, with at most so many rows unless one alone has more."""
    joined: list[Stretch] = []
    for stretch in stretches:
        if joined and sum(each.rows for each in joined) + stretch.rows > most:
            yield joined
            joined = []
        joined.append(stretch)
    if joined:
        yield joined


def _whole(stretches: Sequence[Stretch]) -> Stretch:
    return Stretch(stretches[0].start, stretches[-1].stop, sum(each.rows for each in stretches))
