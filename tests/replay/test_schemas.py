"""The timeline's documents are what the schemas that nobody validates them by at work say."""

from __future__ import annotations

import pytest
from django.test import Client

from observatory.clusters.models import Cluster
from observatory.replay.schemas import ClusterInfo, EventItem, Lanes, SpanDetail, State
from observatory.store.ingest.writer import Writer
from tests.replay.records import fill
from tests.support.response_schemas import assert_documented

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_document_of_a_cluster_is_as_documented(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    url = f"/api/v1/clusters/{cluster.pk}"
    assert_documented(ClusterInfo, member.get(url).json())
    fill(writer, cluster, now)
    lanes = member.get(f"{url}/lanes").json()
    state = member.get(f"{url}/state?at={now + 5}").json()
    span = member.get(f"{url}/span?lane={lanes['lanes'][0]['id']}&at={now + 1.1}").json()
    events = member.get(f"{url}/events").json()
    assert all([lanes["workers"], lanes["series"]["memory"], state["progress"], state["workers"], events])
    for schema, document in (
        (ClusterInfo, member.get(url).json()),
        (Lanes, lanes),
        (State, state),
        (SpanDetail, span),
        (list[EventItem], events),
    ):
        assert_documented(schema, document)
