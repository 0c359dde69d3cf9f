from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db.models.signals import post_migrate

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
