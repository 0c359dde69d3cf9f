"""What a real agent measured is one number on live pages, in the tables, in exports and in the archive."""

from __future__ import annotations

import json

import psycopg

from observatory.clusters.models import Cluster
from observatory.collect.agents.batch import batch_of
from observatory.store.archive.rounds.round import archive_round
from observatory.store.ingest.writer import Writer
from observatory.store.queries.named_records import read, record_kinds
from observatory.store.times import to_microseconds
from observatory.wire.batches import decode_batch
from observatory.wire.rounding import ROUNDED, rounded
from tests.agent.fake_server import FakeServer
from tests.store.archive.conftest import Archive
from tests.support.observed_cluster import agent_server
from tests.support.projects import World

__all__ = ["agent_server"]

Value = tuple[str, str, int, float]
"""metric, labels, time and value"""


def _labels(labels: object) -> str:
    return json.dumps(json.loads(labels) if isinstance(labels, str) else labels, sort_keys=True)


def _microseconds(seconds: float) -> int:
    return round(seconds * 1e6)


def _reported(server: FakeServer) -> list[Value]:
    found = []
    for row in server.rows["sample"]:
        metric, labels, _, _ = json.loads(row["series"])
        found.append((metric, _labels(labels), _microseconds(row["time"]), row["value"]))
    return sorted(found)


def _store(server: FakeServer, cluster: Cluster) -> list[Value]:
    """Stores the batches; returns what open pages get of metrics that are no counters."""
    live: list[Value] = []
    series: dict[int, str] = {}
    with Writer() as writer:
        for body in server.bodies:
            committed = writer.write(batch_of(cluster.pk, *decode_batch(body))[0])
            series |= {item["id"]: _labels(item["labels"]) for item in committed.series}
            if (samples := committed.samples) is None:
                continue
            for place in range(len(samples)):
                if not samples.counter[place]:
                    live.append(
                        (
                            samples.metric.values[samples.metric.codes[place]],
                            series[int(samples.series[place])],
                            _microseconds(float(samples.time[place])),
                            float(samples.value[place]),
                        )
                    )
    return sorted(live)


def _exported(connection: psycopg.Connection, cluster: int) -> list[Value]:
    columns = ("metric", "labels", "time", "value")
    with connection.transaction():
        parts = list(read(connection, record_kinds()["sample"], cluster, 0, 2**52, columns))
    return sorted(
        (metric, _labels(labels), to_microseconds(time), value)
        for part in parts
        for _, metric, labels, time, value in part
    )


def test_samples_of_an_agent_have_one_value_live_stored_exported_and_archived(
    connection: psycopg.Connection, world: World, archive: Archive, agent_server: FakeServer
) -> None:
    reported = _reported(agent_server)
    live = _store(agent_server, world.ended)
    assert live
    assert set(live) <= set(reported)
    assert _exported(connection, world.ended.pk) == reported
    archive_round(float("inf"))
    rows = archive.table("sample", world.ended.pk).to_pylist()
    assert reported == sorted(
        (row["metric"], _labels(row["labels"]), to_microseconds(row["time"]), row["value"]) for row in rows
    )


def test_an_agent_rounds_rates_shares_and_means_alone(agent_server: FakeServer) -> None:
    reported = _reported(agent_server)
    measured = {metric for metric, *_ in reported} & ROUNDED
    assert len(measured) >= 8
    assert [each for each in reported if each[3] != rounded(each[0], each[3])] == []
    fine = {
        metric for metric, _, _, value in reported if value != rounded("observatory_worker_disk_ratio", value)
    }
    assert fine
    assert not fine & ROUNDED, "counters and bytes have all of their digits"
