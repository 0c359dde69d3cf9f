"""Databases whose schema this version does not know are refused before anything is changed."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

OF_BEFORE_THE_FIRST_RELEASE = ("clusters", "0002_ingest_tokens")


@pytest.mark.django_db
def test_a_database_of_before_the_first_release_is_refused_with_what_to_do() -> None:
    recorder = MigrationRecorder(connection)
    recorder.record_applied(*OF_BEFORE_THE_FIRST_RELEASE)
    for app, name in list(recorder.applied_migrations()):
        if app == "store":
            recorder.record_unapplied(app, name)
    with pytest.raises(CommandError) as refused:
        call_command("migrate", verbosity=0)
    said = str(refused.value)
    assert "clusters.0002_ingest_tokens" in said
    assert "an empty data folder (--data-dir" in said
    assert ("store", "0001_initial") not in recorder.applied_migrations()


@pytest.mark.django_db
def test_a_database_with_migrations_of_an_app_that_is_not_installed_is_migrated() -> None:
    MigrationRecorder(connection).record_applied("socialaccount", "0099_of_another_setting")
    call_command("migrate", verbosity=0)
