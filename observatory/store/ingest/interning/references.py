"""Turns records into the columns of their table: names and addresses become references to other tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from operator import attrgetter

import numpy as np
import psycopg

from observatory.store.ingest.batches.record_columns import Array, Coded, Keys, Records, Values
from observatory.store.ingest.copying import Column, Texts, jsonb, nullable, texts, timestamps
from observatory.store.ingest.interning.names import NewNames, Prefix
from observatory.store.ingest.known_cluster import KnownCluster
from observatory.store.ingest.source_limits import SourceLimit
from observatory.store.keys import encode_keys
from observatory.store.texts import LARGEST_INTEGER, clean_json
from observatory.wire.columns import BOUNDS, ColumnType
from observatory.wire.kind import (
    As,
    Field,
    InOther,
    KeyReference,
    Label,
    LaneReference,
    NameReference,
    SeriesReference,
    StackReference,
    WorkerReference,
)

ID = attrgetter("id")


class References:
    """The rows of other tables that the records of one batch refer to."""

    def __init__(self, connection: psycopg.Connection, cluster: KnownCluster) -> None:
        self.connection = connection
        self.cluster = cluster
        self.lanes: dict[str, Coded] = {}
        """the lane of each record, by kind"""
        self.series: dict[str, Coded] = {}
        """the series of each record, by kind"""
        self._ids: dict[tuple[str, str], Array] = {}
        """those that were found, by kind and column"""

    def load_workers(self, records: Mapping[str, Records]) -> None:
        """Finds lifetimes, lanes and series. New ones get their ids when they are saved."""
        addresses: set[str] = set()
        for kind, some in records.items():
            for field in some.kind.fields:
                if isinstance(field.storage, LaneReference):
                    self.lanes[kind] = self.cluster.lanes_of(self.connection, some, field.name)
                elif isinstance(field.storage, SeriesReference):
                    series = some.coded(field.name)
                    self.series[kind] = self.cluster.series.find(
                        self.connection, series, some.times, self.cluster.workers
                    )
                elif isinstance(field.storage, WorkerReference):
                    addresses.update(some.coded(field.name).values)
        self.cluster.workers.load(self.connection, addresses)

    def intern(self, records: Mapping[str, Records], limit: SourceLimit | None) -> list[Prefix]:
        """Stores names and stacks; returns the prefixes that are new to the store."""
        new = NewNames()
        groups: dict[str, str] = {}
        stacks: set[str] = set()
        for some in records.values():
            for field in some.kind.fields:
                values = some.columns[field.name]
                match field.storage:
                    case KeyReference():
                        assert isinstance(values, Keys)
                        for prefix, group in values.names.values:
                            new.prefixes.add(prefix)
                            new.groups[group] = prefix
                    case NameReference(table="task_group"):
                        assert isinstance(values, Keys)
                        groups |= {group: prefix for prefix, group in values.names.values}
                    case NameReference(table="prefix"):
                        new.prefixes.update(name for name in _texts(values) if name)
                    case NameReference(table="typename"):
                        new.typenames.update(_texts(values))
                    case StackReference():
                        stacks.update(_texts(values))
        # of a text that is written like a tuple, the key has another prefix than the group's name
        new.groups = groups | new.groups
        if stacks:
            self.cluster.stacks.intern(self.connection, stacks, limit)
        return self.cluster.names.intern(self.connection, new, limit)

    def table_columns(self, records: Records) -> dict[str, Column]:
        """The columns of the records' table, by name."""
        kind, rows = records.kind, len(records)
        columns: dict[str, Column] = {"cluster_id": np.full(rows, self.cluster.id, np.int32)}
        if kind.has_id:
            columns["id"] = _uuids(rows)
        for field in kind.fields:
            columns.update(self.columns(field, records))
        return columns

    def columns(self, field: Field, records: Records) -> Iterator[tuple[str, Column]]:
        """The columns of a field, by name."""
        values = records.columns[field.name]
        names = records.kind.column_names[field.name]
        match field.storage:
            case As(type=type):
                yield names[0], _plain(type, values)
            case Label(labels=labels, unknown=unknown):
                yield names[0], _labels(values, labels, unknown)
            case KeyReference():
                if len(names) == 3:
                    yield names[0], nullable(self.ids(records, names[0]))
                yield from self._key(names, values)
            case WorkerReference() | LaneReference() | SeriesReference() | NameReference() | StackReference():
                yield names[0], nullable(self.ids(records, names[0]))
            case InOther():
                pass

    def ids(self, records: Records, column: str) -> Array:
        """The ids in a column of records whose names are interned, found once; 0 where there is none."""
        kind = records.kind
        if (kind.name, column) not in self._ids:
            [field] = [field for field in kind.fields if column in kind.column_names[field.name]]
            self._ids[kind.name, column] = self._find_ids(field, records)
        return self._ids[kind.name, column]

    def _find_ids(self, field: Field, records: Records) -> Array:
        values, kind = records.columns[field.name], records.kind.name
        match field.storage:
            case LaneReference():
                return self.lanes[kind].numbers(ID)
            case SeriesReference():
                return self.series[kind].numbers(ID)
            case KeyReference():
                assert isinstance(values, Keys)
                names = self.cluster.names
                return values.names.numbers(lambda name: names.prefixes[name[0]].id)[values.codes]
        assert isinstance(values, Coded)
        match field.storage:
            case WorkerReference():
                return self.cluster.workers.ids_at(values, records.times)
            case NameReference(table=table):
                known = self.cluster.names.table(table)
                return values.numbers(lambda name: known[name].id if name or table != "prefix" else 0)
            case StackReference():
                return values.numbers(self.cluster.stacks.id_of)
        raise TypeError(f"the field {field.name} of {kind} has no ids")

    def _key(self, names: tuple[str, ...], keys: Values) -> Iterator[tuple[str, Column]]:
        assert isinstance(keys, Keys)
        *_, group_column, rest_column = names
        known, of_keys = self.cluster.names, keys.names
        yield group_column, of_keys.numbers(lambda name: known.groups[name[1]].id)[keys.codes]
        groups = of_keys.map(lambda name: known.groups[name[1]].text)
        if keys.is_per_row:
            yield (
                rest_column,
                Texts(lambda rows: encode_keys(keys.values[rows], groups.per_row(rows))),
            )
        else:
            yield rest_column, texts(Coded(encode_keys(keys.values, groups.per_row()), keys.codes))


def _texts(values: Values) -> list[str]:
    assert isinstance(values, Coded)
    return list(values.values)


def _plain(type: ColumnType, values: Values) -> Column:
    """Values as they are; numbers are cut to the column's range."""
    if isinstance(values, Coded):
        return texts(values) if type is ColumnType.TEXT else jsonb(values.map(clean_json))
    if type is ColumnType.TIME:
        return timestamps(values)
    if type is ColumnType.REAL:
        return values.astype(np.float64)
    if type is ColumnType.BIGINT:
        return _bigints(values)
    return np.clip(values, -BOUNDS[type], BOUNDS[type] - 1).astype(WIDTHS[type])


WIDTHS: Mapping[ColumnType, np.dtype[np.generic]] = {
    ColumnType.SMALLINT: np.dtype(np.int16),
    ColumnType.INTEGER: np.dtype(np.int32),
}


def _bigints(values: Array) -> Array:
    if values.dtype.kind != "f":
        return values.astype(np.int64)
    fits = values < 2.0**63
    return np.where(fits, np.where(fits, np.maximum(values, 0), 0).astype(np.int64), LARGEST_INTEGER)


def _labels(values: Values, labels: tuple[str, ...], unknown: int) -> Array:
    if isinstance(values, Coded):
        codes = {label: code for code, label in enumerate(labels)}
        return values.numbers(lambda label: codes.get(label, unknown), np.int16)
    return values.astype(np.int16)


def _uuids(count: int) -> Array:
    """Random UUIDs (version 4)."""
    random = np.frombuffer(os.urandom(16 * count), np.uint8).reshape(count, 16).copy()
    random[:, 6] = random[:, 6] & 0x0F | 0x40
    random[:, 8] = random[:, 8] & 0x3F | 0x80
    return random.view("V16").reshape(count)
