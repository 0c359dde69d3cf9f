"""Profiles in the API: stacks by id, and live rows in the columns of tiles."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.test import Client

from observatory.clusters.models import Cluster
from observatory.replay.api import MAXIMUM_STACKS
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.publishing.publication import frames
from observatory.store.ingest.writer import Writer
from observatory.store.series.sample_intervals import SampleIntervals
from observatory.wire.blocks import Block, decode
from observatory.wire.records import SOURCES, WorkerSeen
from tests.replay.conftest import LEVEL

WORKER = "tcp://127.0.0.1:1"
OUTER, INNER = "run\tpool.py\t8", "inc\t<img src=x onerror=alert(1)>\t3"


def _write(writer: Writer, cluster: Cluster, now: float) -> list[Block]:
    """Write five rows; returns the live blocks."""
    rows = [
        (now + 1, WORKER, "task", "inc", f"{OUTER}\n{INNER}", 90),
        (now + 2, WORKER, "task", "inc", OUTER, 5),
        (now + 2, WORKER, "event-loop", "", OUTER, 1),
        (now + 2, WORKER, "native", "inc", f"{OUTER}\ndeflate\tlibz.so.1\t0", 4),
        (now + 2, "", "event-loop", "", "loop\tloop.py\t1", 1),
    ]
    seen = [WorkerSeen(WORKER, "a", "127.0.0.1", 2, 1000, now)]
    committed = writer.write(Batch.of(cluster.pk, seen, committed=now + 3, rows={"profile": rows}))
    return [block for frame in frames(committed, {}, SampleIntervals()) for block in decode(frame)]


def _stacks(direct: psycopg.Connection, cluster: Cluster) -> dict[int, str]:
    return dict(direct.execute("SELECT id, frames FROM stack WHERE cluster_id = %s", [cluster.pk]).fetchall())


def _url(cluster: Cluster, ids: Any) -> str:
    return f"/api/v1/clusters/{cluster.pk}/stacks?ids={','.join(map(str, ids))}"


def test_live_profile_rows_equal_those_of_the_tile(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    live_block = {block.kind: block for block in _write(writer, cluster, now)}["profile"]
    index = int(now * 1e6) // (512 << LEVEL)
    answer = member.get(f"/api/v1/clusters/{cluster.pk}/tiles/profile/{LEVEL}/{index}")
    tile = {block.kind: block for block in decode(answer.content)}["profile"]
    assert list(live_block.columns) == list(tile.columns)
    live, tiled = (
        sorted(zip(*(block.list(name) for name in tile.columns), strict=True)) for block in (live_block, tile)
    )
    assert [row[0] for row in live] == [now + 1, now + 2, now + 2, now + 2, now + 2]
    assert sorted(row[-1] for row in live) == [1, 1, 4, 5, 90]
    assert {row[1:4] for row in live} >= {(-1, 0, 1)}
    assert [row[-1] for row in live if row[3] == SOURCES.index("native")] == [4]
    assert live == tiled


def test_stacks_are_immutable_and_found_by_their_ids(
    member: Client, cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    _write(writer, cluster, now)
    stored = _stacks(direct, cluster)
    answer = member.get(_url(cluster, stored))
    [block] = decode(answer.content)
    assert dict(zip(block.list("id"), block.list("frames"), strict=True)) == stored
    assert f"{OUTER}\n{INNER}" in stored.values()
    assert "immutable" in answer["Cache-Control"]
    again = member.get(_url(cluster, stored), headers={"If-None-Match": answer["ETag"]})
    assert again.status_code == 304


def test_a_response_that_lacks_a_stack_is_not_immutable(
    member: Client, cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    _write(writer, cluster, now)
    stored = _stacks(direct, cluster)
    answer = member.get(_url(cluster, [*stored, max(stored) + 1]))
    [block] = decode(answer.content)
    assert block.list("id") == sorted(stored)
    assert answer["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize(
    ("ids", "named"),
    [
        ("", "''"),
        ("1,", "''"),
        ("1,x", "'x'"),
        ("-1", "'-1'"),
        ("1.5", "'1.5'"),
        ("\u0661", "'\u0661'"),
        ("2147483648", "'2147483648'"),
        ("9" * 5_000, "'999"),
        (",".join(["1"] * (MAXIMUM_STACKS + 1)), f"at most {MAXIMUM_STACKS}"),
    ],
)
def test_invalid_stack_ids_are_refused_and_named(
    member: Client, cluster: Cluster, ids: str, named: str
) -> None:
    answer = member.get(f"/api/v1/clusters/{cluster.pk}/stacks", {"ids": ids})
    assert answer.status_code == 422
    assert named in answer.json()["detail"]
    assert len(answer.json()["detail"]) < 200


def test_stacks_of_another_cluster_are_not_returned(
    member: Client,
    stranger: Client,
    cluster: Cluster,
    writer: Writer,
    direct: psycopg.Connection,
    now: float,
) -> None:
    _write(writer, cluster, now)
    other = Cluster.objects.create(
        project=cluster.project,
        scheduler_id="Scheduler-2",
        name="other",
        started=cluster.started,
        last_seen=cluster.last_seen,
    )
    stored = _stacks(direct, cluster)
    [block] = decode(member.get(_url(other, stored)).content)
    assert block.rows == 0
    assert stranger.get(_url(cluster, stored)).status_code == 404


def test_the_cluster_info_says_whether_an_agent_reports(
    member: Client, cluster: Cluster, direct: psycopg.Connection
) -> None:
    url = f"/api/v1/clusters/{cluster.pk}"
    assert member.get(url).json()["has_agent"] is False
    direct.execute(
        """INSERT INTO agent (id, cluster_id, sequence, since, last, is_joint)
           VALUES (gen_random_uuid(), %s, 1, now(), now(), false)""",
        [cluster.pk],
    )
    assert member.get(url).json()["has_agent"] is True
