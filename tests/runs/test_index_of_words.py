"""Servers without the extension by which words of names and tags are found."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.db import connection

lists = import_module("observatory.runs.migrations.0006_lists")

pytestmark = pytest.mark.django_db


def test_a_server_without_the_extension_is_migrated_and_warned_about(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(lists, "TRIGRAMS", ("CREATE EXTENSION observatory_has_no_such",))
    with connection.schema_editor() as editor:
        lists.index_words(None, editor)
        editor.execute("SELECT 1")  # the migration goes on in its transaction
    assert "names of runs are searched without an index" in caplog.text
