"""Stores the batches that an agent sent to its client, which recorded a run without a server."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from observatory.clusters.models import Cluster, Project
from observatory.collect.agents.batch import batch_of
from observatory.collect.agents.body import WINDOW, Body, unpack
from observatory.collect.agents.decoding import decode_body
from observatory.collect.collector.clusters import registry
from observatory.store.ingest.writer import Writer


def store_recorded(project: Project, bodies: Iterable[bytes]) -> list[Cluster]:
    """Stores the bodies of an agent's requests, in their order; returns the clusters that they are of.

    One that came twice is stored once. Raises BodyError, BatchError and psycopg.Error.
    """
    clusters: dict[int, Cluster] = {}
    with Writer() as writer:
        for sent in bodies:
            head, blocks = decode_body(Body(unpack(deque([sent]), WINDOW["gzip"]), len(sent)))
            cluster, _ = registry.cluster_of_agent(project, head)
            batch, _ = batch_of(cluster.pk, head, blocks)
            committed = writer.write(batch)
            registry.update_from_agent(cluster, max(committed.extent.last, head.since), head.is_last)
            clusters[cluster.pk] = cluster
    return list(clusters.values())
