"""A cluster whose records are in the archive alone."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.store.archive.rounds.round import archive_round
from tests.store.archive.conftest import remove_unused


@pytest.fixture
def archived(connection: psycopg.Connection, recorded: Cluster, folder: Path) -> Cluster:
    archive_round()
    assert remove_unused(connection, recorded.pk) > 0
    return recorded
