from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import FrameType

import pytest
from django.apps import apps
from django.db import connection
from django.db.models.signals import post_migrate
from django.test import TransactionTestCase

from observatory.store.connection import close_readers

pytest_plugins = ["tests.chromium"]


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> None:
    """Before the database is made: tests make the rules that they are about."""
    post_migrate.disconnect(sender=apps.get_app_config("alerts"), dispatch_uid="ready-made rules")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:
    """pytest-django's, which drops the database at the end: nothing may be connected to it by then."""
    yield
    close_readers()


KEPT = {"django_content_type", "auth_permission"}
"""tables with what migrations wrote"""


@pytest.fixture(scope="session", autouse=True)
def _deleting_instead_of_flushing() -> Iterator[None]:
    """A test's committed rows are deleted. Django's way, TRUNCATE of every table and making all permissions
    anew, costs fifty times as much."""
    statements: list[str] = []

    def delete(_: TransactionTestCase) -> None:
        if not statements:
            tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
            statements.extend(f'DELETE FROM "{table}"' for table in tables if table not in KEPT)
        with connection.cursor() as cursor:
            cursor.execute(";".join(statements))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", delete)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_collection_in_current_frames() -> Iterator[None]:
    """Where Python 3.11 collects garbage in sys._current_frames(), which Dask's profiles need, a process
    with gilknocker in it may stand still for good (python/cpython#106883)."""
    if sys.version_info >= (3, 12):
        yield
        return
    current_frames = sys._current_frames

    def without_collection() -> dict[int, FrameType]:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return current_frames()
        finally:
            if was_enabled:
                gc.enable()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "_current_frames", without_collection)
        yield
