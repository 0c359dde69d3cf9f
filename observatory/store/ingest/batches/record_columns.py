"""Records of one kind as columns, from their source to COPY and to open pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from observatory.store.keys import clean_keys, split_key
from observatory.store.texts import MAXIMUM_NAME_LENGTH, are_printable
from observatory.wire.batches import fields_of_rows
from observatory.wire.blocks import Column
from observatory.wire.kind import Field, KeyReference, Kind, Type
from observatory.wire.records import clean_text

Array = npt.NDArray[Any]
Times = npt.NDArray[np.float64]


ALL = slice(None)


class _Positions(dict[Any, int]):
    """The position of each value, in order of their first appearance."""

    def __missing__(self, value: Any) -> int:
        position = self[value] = len(self)
        return position


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of values that repeat: the values, and for each row the position of its value."""

    values: Sequence[Any]
    codes: npt.NDArray[np.int64]

    @classmethod
    def of(cls, values: Iterable[Any]) -> Coded:
        """Of hashable values, each of which is stored once."""
        positions = _Positions()
        codes = np.fromiter(map(positions.__getitem__, values), np.int64)
        return cls(list(positions), codes)

    @classmethod
    def of_rows(cls, values: Sequence[Any]) -> Coded:
        """One value for each row, without a search for repetitions."""
        return cls(values, np.arange(len(values)))

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def is_per_row(self) -> bool:
        """Whether each row has a value of its own, in their order."""
        return len(self.values) == len(self.codes) and bool((self.codes == np.arange(len(self.codes))).all())

    @classmethod
    def joined(cls, columns: Sequence[Coded]) -> Coded:
        """The rows of all. A value that several have is there several times."""
        firsts = np.cumsum([0, *(len(column.values) for column in columns)])
        codes = [column.codes + first for column, first in zip(columns, firsts[:-1], strict=True)]
        return Coded([value for column in columns for value in column.values], np.concatenate(codes))

    def per_row(self, rows: slice = ALL) -> list[Any]:
        """The value of each row."""
        return list(map(self.values.__getitem__, self.codes[rows].tolist()))

    def map(self, function: Callable[[Any], Any]) -> Coded:
        return Coded(list(map(function, self.values)), self.codes)

    def numbers(self, function: Callable[[Any], int], type: type[np.generic] = np.int32) -> Array:
        """A number for each row, computed once for each value."""
        return np.fromiter(map(function, self.values), type, len(self.values))[self.codes]

    def merged(self) -> Coded:
        """The same with equal values, which are hashable, stored once."""
        found = Coded.of(self.values)
        return Coded(found.values, found.codes[self.codes])

    def where(self, rows: Array) -> Coded:
        """Some of the rows, and the values that these have."""
        used, codes = np.unique(self.codes[rows], return_inverse=True)
        return Coded(list(map(self.values.__getitem__, used.tolist())), codes)

    def block_column(self, name: str, rows: Array) -> Column:
        """Some of the rows of a column of texts, as a column of a block."""
        some = self.where(rows)
        return Column(name, "text", some.codes.astype(np.uint32), some.values)


Names: TypeAlias = "Sequence[tuple[str, str] | None]"
"""the (prefix, group) of each text of a column of keys"""


@dataclass(frozen=True, slots=True)
class Keys(Coded):
    """A column of task keys, with the (prefix, group) of each value."""

    names: Coded

    @classmethod
    def of_texts(cls, coded: Coded, names: Names | None = None) -> Keys:
        """Of texts and their names; those without names are named as Dask names a text."""
        keys = clean_keys(coded.values)
        if names is None:
            return cls(keys, coded.codes, Coded.of(map(split_key, keys)))
        pairs = (name or split_key(key) for key, name in zip(keys, names, strict=True))
        return cls(keys, coded.codes, Coded.of(pairs))

    @classmethod
    def of_groups(cls, coded: Coded, names: Names | None = None) -> Keys:
        """Of groups' names, which are their own groups."""
        keys = cls.of_texts(coded, names)
        prefixes = (prefix for prefix, _ in keys.names.per_row())
        return cls(keys.values, keys.codes, Coded.of(zip(prefixes, keys.values, strict=True)))

    def where(self, rows: Array) -> Keys:
        used, codes = np.unique(self.codes[rows], return_inverse=True)
        some = Coded(self.names.values, self.names.codes[used])
        return Keys(
            list(map(self.values.__getitem__, used.tolist())), codes, some.where(np.arange(len(used)))
        )

    @classmethod
    def joined_keys(cls, columns: Sequence[Keys]) -> Keys:
        both, names = Coded.joined(columns), Coded.joined([keys.names for keys in columns])
        return cls(both.values, both.codes, names.merged())


Values: TypeAlias = "Array | Coded"


@dataclass(frozen=True, slots=True)
class Records:
    """Records of one kind: the values of each field. Texts are clean; JSON is parsed."""

    kind: Kind
    columns: Mapping[str, Values]

    def __len__(self) -> int:
        return len(self.columns[self.kind.time])

    @property
    def times(self) -> Times:
        """seconds"""
        return self.numbers(self.kind.time)

    @property
    def stops(self) -> Times:
        """seconds; the times of records that have no length"""
        return self.numbers(self.kind.stop or self.kind.time)

    def numbers(self, name: str) -> Array:
        values = self.columns[name]
        assert isinstance(values, np.ndarray)
        return values

    def coded(self, name: str) -> Coded:
        values = self.columns[name]
        assert isinstance(values, Coded)
        return values

    def keys(self, name: str = "key") -> Keys:
        values = self.columns[name]
        assert isinstance(values, Keys)
        return values

    def where(self, rows: Array) -> Records:
        """Some of the records: positions, or a mask."""
        if rows.dtype == np.bool_ and rows.all():
            return self
        found = {
            name: values.where(rows) if isinstance(values, Coded) else values[rows]
            for name, values in self.columns.items()
        }
        return replace(self, columns=found)

    def changed(self, **columns: Values) -> Records:
        return replace(self, columns={**self.columns, **columns})

    def rows(self) -> list[tuple[Any, ...]]:
        """The records as tuples in the order of the kind's fields."""
        columns = [self.columns[name] for name in self.kind.names]
        lists = [values.per_row() if isinstance(values, Coded) else values.tolist() for values in columns]
        return list(zip(*lists, strict=True))


def joined(parts: Sequence[Records]) -> Records:
    """The records of all parts, which are of one kind; at least one."""
    if len(parts) == 1:
        return parts[0]
    columns = {name: _joined([part.columns[name] for part in parts]) for name in parts[0].columns}
    return Records(parts[0].kind, columns)


def _joined(columns: Sequence[Any]) -> Values:
    if isinstance(columns[0], Keys):
        return Keys.joined_keys(columns)
    return Coded.joined(columns) if isinstance(columns[0], Coded) else np.concatenate(columns)


def records_of_rows(kind: Kind, rows: Sequence[Sequence[Any]]) -> Records:
    """Of tuples in the order of the kind's fields, with JSON as objects."""
    fields = fields_of_rows(kind, rows)
    columns = list(zip(*rows, strict=True)) or [()] * len(fields)
    found: dict[str, Values] = {field.name: lacking(len(rows)) for field in kind.fields[len(fields) :]}
    for field, values in zip(fields, columns, strict=True):
        if field.type is Type.JSON:
            found[field.name] = Coded.of_rows(values)
        elif field.type.column != "text":
            found[field.name] = np.array(values, NUMPY[field.type.column])
        else:
            coded = Coded.of(values)
            is_key = field.type is Type.KEY
            found[field.name] = keys_of(field, coded) if is_key else clean_values(coded, field.type.limit)
    return Records(kind, found)


def lacking(rows: int) -> Coded:
    """The column of an optional field that these rows are without."""
    return Coded([""], np.zeros(rows, np.int64))


def keys_of(field: Field, coded: Coded, names: Names | None = None) -> Keys:
    """The column of a field of keys, or of groups' names."""
    is_key = isinstance(field.storage, KeyReference)
    return Keys.of_texts(coded, names) if is_key else Keys.of_groups(coded, names)


def clean_names(texts: Iterable[str]) -> Coded:
    return clean_values(Coded.of(texts), MAXIMUM_NAME_LENGTH)


def clean_values(coded: Coded, limit: int) -> Coded:
    """The texts cleaned. They are checked together first, since nearly always all of them are clean."""
    values = coded.values
    if are_printable(values) and max(map(len, values), default=0) <= limit:
        return coded
    return coded.map(lambda text: clean_text(text, limit))


NUMPY = {"f64": np.float64, "u32": np.uint32, "i32": np.int32, "u8": np.uint8}
"""by the type of a block's column"""
