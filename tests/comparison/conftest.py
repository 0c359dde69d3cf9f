from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from observatory.store.connection import connect
from tests.support.projects import World, world

__all__ = ["world"]


@pytest.fixture
def connection(transactional_db: None) -> Iterator[psycopg.Connection]:
    with connect() as connection:
        yield connection


@pytest.fixture
def stored(transactional_db: None, world: World) -> World:
    """The world, whose clusters something can be stored of."""
    return world
