"""What tests of archived rows share: all kinds and times, and records that come late."""

from __future__ import annotations

import psycopg

from observatory.clusters.models import Cluster
from observatory.store.connection import connect_reader
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.timeline import events
from observatory.wire.kinds import stored_kinds
from observatory.wire.records import Event, Sample, Series
from tests.exchange.everything import START, STOP
from tests.store.archive.conftest import next_head

KINDS = [kind.name for kind in stored_kinds()]


DAY = 86_400


ALL_TIME = int((START - 10 * DAY) * 1e6), int((STOP + 10 * DAY) * 1e6)


def read_events(cluster: int) -> list[str]:
    with connect_reader() as connection:
        return [kind for _, _, kind, _ in events(connection, cluster, *ALL_TIME)]


def write_late(connection: psycopg.Connection, cluster: Cluster) -> None:
    with Writer() as writer:
        writer.write(
            Batch.of(
                cluster.pk,
                events=[Event(START + 11, "client-added")],
                samples=[Sample(Series("m"), START + 11, 1.0)],
                head=next_head(connection, cluster),
            )
        )
