from __future__ import annotations

import time
from collections.abc import Iterator

import psycopg
import pytest
from django.contrib.auth.models import User
from django.test import Client

from observatory.clusters.accounts.models import Membership
from observatory.clusters.models import Cluster, Project
from observatory.replay.tiles import builder
from observatory.store.connection import connect
from observatory.store.ingest.writer import Writer
from observatory.store.times import from_seconds
from tests.support.projects import signed_in

LEVEL = 20
TILE = (512 << LEVEL) / 1e6
"""seconds"""
CLOSED = 80_000.0
"""seconds after which all is taken for closed; more than a day ahead would be refused"""


@pytest.fixture(scope="module")
def few_rows() -> int:
    """A tile of more rows is cached: recordings of tests are small."""
    return 0


@pytest.fixture(scope="module", autouse=True)
def _few_rows(few_rows: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "FEW_ROWS", few_rows)
        patch.setattr(builder, "FEW_SUMMED_ROWS", few_rows)
        yield


@pytest.fixture(scope="module")
def now() -> float:
    """A whole second in the past, 100 s after the start of a tile of LEVEL and 437 s before its end."""
    return float(int((time.time() // TILE - 1) * TILE) + 100)


@pytest.fixture
def cluster(transactional_db: None, now: float) -> Cluster:
    return make_cluster(now)


def make_cluster(now: float, scheduler_id: str = "Scheduler-1") -> Cluster:
    project, _ = Project.objects.get_or_create(name="Team", slug="team")
    started = from_seconds(now)
    return Cluster.objects.create(
        project=project, scheduler_id=scheduler_id, name="etl", started=started, last_seen=started
    )


@pytest.fixture
def writer(cluster: Cluster) -> Iterator[Writer]:
    with Writer() as writer:
        yield writer


@pytest.fixture
def member(cluster: Cluster) -> Client:
    """A client signed in as a member of the cluster's project."""
    user = User.objects.create_user("member")
    Membership.objects.create(project=cluster.project, user=user)
    return signed_in(user)


@pytest.fixture
def stranger(cluster: Cluster) -> Client:
    """A client signed in as a user without access to the project."""
    return signed_in(User.objects.create_user("stranger"))


@pytest.fixture
def direct(transactional_db: None) -> Iterator[psycopg.Connection]:
    """A separate connection to the database."""
    with connect() as connection:
        yield connection
