from __future__ import annotations

from collections.abc import Iterator

import pytest

from observatory.store.connection import close_readers

pytest_plugins = ["tests.chromium"]


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:
    """pytest-django's, which drops the database at the end: nothing may be connected to it by then."""
    yield
    close_readers()
