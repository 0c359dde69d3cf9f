"""A connection to a database whose rows all tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from observatory.store.connection import connect

__all__ = ["direct"]


@pytest.fixture(scope="module")
def direct(committed: None) -> Iterator[psycopg.Connection]:
    with connect() as connection:
        yield connection
