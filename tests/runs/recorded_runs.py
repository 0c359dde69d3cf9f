"""The runs of a cluster that a real agent reported to a fake server, stored by the real ingest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.test import Client

from observatory.clusters.models import Cluster, Project
from observatory.clusters.tokens import ingest_tokens
from observatory.runs.models import Run
from observatory.runs.tasks import find_runs
from observatory.store.maintenance.retention import delete_cluster
from tests.agent.fake_server import FakeServer

CLUSTER = "shared"


@contextmanager
def stored_runs(recorded: FakeServer, project: Project) -> Iterator[dict[str, Run]]:
    """The runs from code of the cluster CLUSTER, by name; it is deleted afterwards."""
    _, secret = ingest_tokens.make(project, "tests", None)
    for body in recorded.bodies:
        answer = Client().post(
            "/api/v1/ingest",
            body,
            content_type="application/octet-stream",
            headers={"Authorization": f"Bearer {secret}"},
        )
        assert answer.status_code == 200, answer.content
    connection.close()
    find_runs()
    cluster = Cluster.objects.get(name=CLUSTER)
    yield {run.name: run for run in cluster.runs.filter(origin=Run.Origin.CODE)}
    delete_cluster(cluster.pk)
