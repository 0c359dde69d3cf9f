"""A cluster with records of every kind, and what the store has of any cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.conf import LazySettings

from observatory.runs.models import Note, Run
from observatory.store.connection import connect
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.times import from_seconds
from tests.exchange.everything import START, STOP, write_everything
from tests.exchange.files import Store, export
from tests.support.observed_cluster import agent_server, observed
from tests.support.projects import World, world

__all__ = ["agent_server", "observed", "world"]


@pytest.fixture
def connection(transactional_db: None) -> Iterator[psycopg.Connection]:
    with connect() as connection:
        yield connection
        for (cluster,) in connection.execute("SELECT cluster_id FROM extent").fetchall():
            delete_cluster(cluster)


@pytest.fixture
def run(connection: psycopg.Connection, world: World) -> Run:
    """A run of Alpha's cluster that ended, with records of every kind in it, before it and after it."""
    write_everything(world.ended.pk)
    Note.objects.create(cluster=world.ended, time=from_seconds(START + 3), text="here it began to spill")
    Note.objects.create(cluster=world.ended, time=from_seconds(START - 30), text="of another run")
    return Run.objects.create(
        cluster=world.ended,
        name="nightly etl",
        origin=Run.Origin.CODE,
        outcome=Run.Outcome.ERRED,
        start=from_seconds(START),
        stop=from_seconds(STOP),
        user="lovelace",
        tags={"git": "3f2a1c"},
        code="with observatory.run('nightly etl'):",
    )


@pytest.fixture
def bundle(run: Run, tmp_path: Path) -> Path:
    """The run as a bundle."""
    return export(run, tmp_path / "run.observatory.zip")


@pytest.fixture(autouse=True)
def _own_folder(settings: LazySettings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path / "data"


@pytest.fixture
def store(connection: psycopg.Connection) -> Store:
    return Store(connection)
