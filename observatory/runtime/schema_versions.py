"""Databases and backups that this version cannot migrate, because it lacks migrations that they had."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.core.management import CommandError
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

ADVICE = "Install the version that made it"


def unknown_migrations(applied: Iterable[tuple[str, str]]) -> list[str]:
    """The applied migrations, pairs of app and name, that this version does not have."""
    loader = MigrationLoader(None)
    known = loader.disk_migrations or {}
    return sorted(f"{app}.{name}" for app, name in set(applied) - known.keys() if app in loader.migrated_apps)


def refuse_unknown_database(using: str, **_: Any) -> None:
    """Before `migrate`. Raises CommandError with what to do."""
    unknown = unknown_migrations(MigrationRecorder(connections[using]).applied_migrations())
    if unknown:
        raise CommandError(
            f"the database is of a newer version, or of before 0.1.0 (unknown: {unknown[0]}). {ADVICE}, or "
            "choose an empty data folder (--data-dir, OBSERVATORY_DATA_DIR) or database (DATABASE_URL)"
        )
