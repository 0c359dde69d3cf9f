"""What rows of files a scan looks for. It may find others as well: queries decide in the end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

INSTANT = timedelta(microseconds=1)
"""to the next time that a record can have"""


@dataclass(frozen=True, slots=True)
class OneOf:
    """Any of the columns has one of the values."""

    columns: tuple[str, ...]
    values: frozenset[str] | frozenset[int]


@dataclass(frozen=True, slots=True)
class Contains:
    """Any of the columns contains the text, whatever its case, or matches the regular expression (RE2)."""

    columns: tuple[str, ...]
    text: str
    is_regex: bool = False


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A number or a time is not less than another."""

    column: str
    value: int | datetime


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of several conditions is met."""

    tests: tuple[OneOf | Contains, ...]


Test = OneOf | Contains | AtLeast | AnyOf


@dataclass(frozen=True, slots=True)
class Condition:
    """Rows of [start, stop) that meet all tests."""

    tests: tuple[Test, ...] = ()
    start: datetime | None = None
    stop: datetime | None = None

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the tests read."""
        return frozenset(name for test in self.tests for name in _columns(test))


def _columns(test: Test) -> Iterable[str]:
    if isinstance(test, AtLeast):
        return (test.column,)
    if isinstance(test, AnyOf):
        return (name for each in test.tests for name in each.columns)
    return test.columns


def with_key(
    keys: Iterable[str], columns: tuple[str, ...] = ("key",), since: datetime | None = None
) -> Condition:
    """Rows with one of the keys in any of the columns."""
    return Condition((OneOf(columns, frozenset(keys)),), since)
