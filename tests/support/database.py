"""The tests' database: what it is made of, and how it is emptied again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models.signals import post_migrate
from django.test import TransactionTestCase
from pytest_django import DjangoDbBlocker

from observatory.store.connection import close_pools
from tests.support import services
from tests.support.shared_recordings import made_once

KEPT = {"django_content_type", "auth_permission"}
"""tables with what migrations wrote"""
TEMPLATE = "migrated"
"""the database that is copied for each process"""


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> None:
    """Before the database is made: tests make the rules that they are about."""
    post_migrate.disconnect(sender=apps.get_app_config("alerts"), dispatch_uid="ready-made rules")


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_modify_db_settings: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """Instead of pytest-django's: the processes copy a database that one of them migrated."""
    own_name = connection.creation._get_test_db_name()
    with django_db_blocker.unblock():
        if services.is_ours("DATABASE_URL"):
            _copy(made_once("database", _migrate), own_name)
        else:
            connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    yield
    close_pools()
    if not services.is_ours("DATABASE_URL"):
        with django_db_blocker.unblock():
            _drop(own_name)


def _drop(name: str) -> None:
    """Drops a database although a thread that outlived its test is still connected."""
    connection.close()
    connection.close_pool()
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _migrate() -> str:
    """Migrates a database of its own; returns its name."""
    test_settings = connection.settings_dict["TEST"]
    own, test_settings["NAME"] = test_settings["NAME"], TEMPLATE
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    test_settings["NAME"] = own
    connection.close()
    connection.close_pool()
    close_pools()
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'ALTER DATABASE "{TEMPLATE}" ALLOW_CONNECTIONS false')
        while _sessions(cursor):
            time.sleep(0.05)
    return TEMPLATE


def _sessions(cursor: CursorWrapper) -> int:
    """The number of connections to the template, which can be copied when they are closed."""
    cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = %s", [TEMPLATE])
    [(count,)] = cursor.fetchall()
    return int(count)


def _copy(template: str, name: str) -> None:
    """Makes the copy `name` of the database `template`; connections are to the copy from now on."""
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = name


@pytest.fixture(scope="session", autouse=True)
def _deleting_instead_of_flushing() -> Iterator[None]:
    """Deletes the rows that a test committed: about 25 ms of processor time.

    Django truncates every table and creates all permissions again: about 130 ms for each of 700 tests.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: _delete_rows())
        yield


@pytest.fixture(scope="module")
def committed(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """For a module's fixtures whose rows all of its tests read and none changes. Deletes them afterwards."""
    with django_db_blocker.unblock():
        yield
        _delete_rows()


def _delete_rows() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_deletion())


@cache
def _deletion() -> str:
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    quiet = """SELECT set_config('observatory.audit_upkeep', 'on', true),
        set_config('observatory.actor', '{"is_noted": false}', true)"""
    return ";".join([quiet, *(f'DELETE FROM "{table}"' for table in tables if table not in KEPT)])
