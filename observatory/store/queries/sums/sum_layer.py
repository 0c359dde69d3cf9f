"""Declares sum layers: what is added up of a window's records, by which keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, LiteralString

import numpy.typing as npt
import psycopg

from observatory.store.queries.fetch import fetch_packed_columns
from observatory.store.times import from_microseconds

Columns = dict[str, npt.NDArray[Any]]

UNKNOWN, REST = 0, -1
"""keys in place of ids: of what isn't known, and of the smallest, which are added up to one"""


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins of equal width from `first` on, clipped to [start, stop). All in microseconds."""

    start: int
    stop: int
    first: int
    width: int

    @classmethod
    def of_window(cls, start: int, stop: int) -> Bins:
        """One bin."""
        return cls(start, stop, start, stop - start)

    def parameters(self, cluster: int) -> dict[str, Any]:
        """Parameters of a query; `low` and `high` are the window's edges in microseconds after `first`."""
        return {
            "cluster": cluster,
            "start": from_microseconds(self.start),
            "stop": from_microseconds(self.stop),
            "first": from_microseconds(self.first),
            "width": self.width,
            "low": self.start - self.first,
            "high": self.stop - self.first,
        }


@dataclass(frozen=True, slots=True)
class SumLayer:
    """What is added up of records, by keys and bins. `replay/windows/sums.py` gives the sums of a window."""

    name: str
    kinds: tuple[str, ...]
    """of the records: late ones of these change the sums"""
    keys: tuple[str, ...]
    """columns of integers: ids, UNKNOWN, REST or others"""
    added: tuple[str, ...]
    """columns that add up"""
    query: LiteralString
    """The rows of a window, summed by keys and `bin`, with the parameters of `Bins`. It has each record in
    the bins that it belongs to whatever their width, so that sums of bins are those of the window."""
    has_more: Callable[[psycopg.Connection, int, int, int, int], bool]
    """whether the query reads over so many rows: (connection, cluster, start, stop, number)"""
    named: tuple[str, ...]
    """Keys whose smallest values become REST where a tile has over `most_rows`."""
    named_by: str
    """the column that says which are the smallest"""
    greatest: tuple[str, ...] = ()
    """columns whose greatest value is taken"""
    least: tuple[str, ...] = ()
    """columns whose least value is taken; infinite where there is none"""
    durations: tuple[str, ...] = ()
    """Columns in seconds. Tiles have them as whole microseconds, which compress better than fractions."""
    most_rows: int = 20_000
    """of a tile"""

    @property
    def sums(self) -> tuple[str, ...]:
        return self.added + self.greatest + self.least

    def read(self, connection: psycopg.Connection, cluster: int, bins: Bins) -> Columns:
        """Return the sums of rows by keys and bin: integers and floats."""
        keys: dict[str, str] = dict.fromkeys((*self.keys, "bin"), "int32")
        types = {**keys, **dict.fromkeys(self.sums, "float64")}
        return fetch_packed_columns(connection, self.query, bins.parameters(cluster), types)


def microseconds_after_first(column: LiteralString) -> LiteralString:
    """SQL of a time in microseconds after the first bin's start, a bigint."""
    return f"round(date_part('epoch', {column} - %(first)s::timestamptz) * 1e6)::bigint"
