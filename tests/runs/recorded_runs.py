"""The runs of a cluster that a real agent reported to a fake server, stored by the real ingest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from observatory.clusters.models import Cluster, Project
from observatory.clusters.tokens import ingest_tokens
from observatory.runs.models import Run
from observatory.runs.tasks import find_runs
from observatory.store.maintenance.retention import delete_cluster
from tests.agent.fake_server import FakeServer
from tests.support.agent_batches import store_batches

CLUSTER = "shared"


@contextmanager
def stored_runs(recorded: FakeServer, project: Project) -> Iterator[dict[str, Run]]:
    """The runs from code of the cluster CLUSTER, by name; it is deleted afterwards."""
    _, secret = ingest_tokens.make(project, "tests", None)
    store_batches(recorded.bodies, secret)
    connection.close()
    find_runs()
    cluster = Cluster.objects.get(name=CLUSTER)
    yield {run.name: run for run in cluster.runs.filter(origin=Run.Origin.CODE)}
    delete_cluster(cluster.pk)
