"""Declares columns of tables, and the columns that people read. store/ turns them into SQL."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

INT2, INT4, INT8 = 2**15, 2**31, 2**63


class ValueType(Enum):
    """The type of a column that exports, the API and the client give."""

    TIME = "time"
    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    JSON = "json"
    """as text"""


class ColumnType(Enum):
    """The type of a table's column: its name, its column in a block (blocks.py), its type for readers."""

    TIME = ("time", "f64", ValueType.TIME)
    """seconds since the epoch; in a block 0 is a null"""
    REAL = ("real", "f64", ValueType.REAL)
    SMALLINT = ("small integer", "i32", ValueType.INTEGER)
    INTEGER = ("integer", "i32", ValueType.INTEGER)
    BIGINT = ("long", "i64", ValueType.INTEGER)
    REFERENCE = ("reference", "i32", ValueType.INTEGER)
    """the id of a row of another table; in a block 0 is a null"""
    TEXT = ("text", "text", ValueType.TEXT)
    KEY = ("key", "text", ValueType.TEXT)
    """a task's key without the name of its group (store/keys.py)"""
    OBJECT = ("object", "text", ValueType.JSON)
    """a JSON object"""
    JSON = ("JSON", "text", ValueType.JSON)
    """a JSON object or list"""
    UUID = ("uuid", "text", ValueType.TEXT)

    @property
    def label(self) -> str:
        return self.value[0]

    @property
    def block(self) -> str:
        return self.value[1]

    @property
    def read_as(self) -> ValueType:
        return self.value[2]


BOUNDS = {ColumnType.SMALLINT: INT2, ColumnType.INTEGER: INT4, ColumnType.BIGINT: INT8}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    type: ColumnType
    refers: str = ""
    """the table of a reference"""
    is_optional: bool = False
    """whether it can be null"""
    limit: int = 0
    """most characters of a text"""
    least: int | None = None
    most: int | None = None
    """of whole numbers; the type's own by default"""
    part: str = ""
    """what a public link has to share for this column to be shown: logs, code or tracebacks; "": nothing"""
    may_lack: bool = False
    """whether older files and rows are without it: then its text is empty"""

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest whole number."""
        bound = BOUNDS.get(self.type, 0)
        return (
            -bound if self.least is None else self.least,
            bound - 1 if self.most is None else self.most,
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """A column that people read: a value of the table, or of a row that the table refers to."""

    name: str
    type: ValueType
    path: tuple[str, ...]
    """references to follow, and the column at their end"""
    labels: tuple[str, ...] = ()
    """the texts that a number stands for; any other number is read as "unknown" """
    item: str = ""
    """the item of a JSON object"""
    group: str = ""
    """of a key: the reference to its group"""
    part: str = ""
    """as Column.part"""


class Method(Enum):
    """How an index finds rows."""

    TREE = "tree"
    BLOCKS = "blocks"
    """the least and the greatest value in each block of pages: for what grows with time, or nearly so"""
    KEYS = "keys"
    """a filter of the texts in each block of pages"""


@dataclass(frozen=True, slots=True)
class Index:
    method: Method
    columns: tuple[str, ...]
