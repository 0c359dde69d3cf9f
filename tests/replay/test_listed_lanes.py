"""Answers have a bound on their size, whatever names a cluster has; what is left out is told."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.test import Client

from observatory.clusters.models import Cluster
from observatory.replay import listed_lanes, progress
from observatory.replay.api import MAXIMUM_NAMES
from observatory.replay.schemas import Lanes, PrefixName, State
from observatory.runs.models import Permalink, Run
from observatory.runs.sharing.links import make_link
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.publishing import publication
from observatory.store.ingest.writer import Writer
from observatory.store.series.sample_intervals import SampleIntervals
from observatory.store.times import from_seconds
from observatory.wire.blocks import decode
from observatory.wire.records import Action, Span
from tests.replay.records import A, fill, make_span
from tests.support.response_schemas import assert_documented

MANY = 100_000
MEGABYTE = 1_000_000
LONG_TEXT = "x" * 300


def add_prefixes(direct: psycopg.Connection, cluster: Cluster, count: int) -> None:
    direct.execute(
        """INSERT INTO prefix (cluster_id, name, color)
           SELECT %s, 'prefix-' || number || %s, '#112233' FROM generate_series(1, %s) AS number""",
        [cluster.pk, LONG_TEXT, count],
    )


def add_workers(direct: psycopg.Connection, cluster: Cluster, count: int) -> None:
    """Workers that joined one second after the other, the newest last, each with two lanes and a series."""
    direct.execute(
        """INSERT INTO worker (cluster_id, address, name, host, nthreads, memory_limit, started,
                               status, position, end_reason)
           SELECT %s, 'tcp://' || number || %s, 'w' || number || %s, 'host' || number || %s, 1, 0,
                  %s + number * interval '1 second', 'running', number + 1, ''
           FROM generate_series(1, %s) AS number""",
        [cluster.pk, LONG_TEXT, LONG_TEXT, LONG_TEXT, cluster.started, count],
    )
    of_cluster = [cluster.pk]
    direct.execute(
        """INSERT INTO lane (cluster_id, worker_id, thread, position)
           SELECT cluster_id, id, thread, thread FROM worker, generate_series(0, 1) AS thread
           WHERE cluster_id = %s AND name LIKE '%%xxx'""",
        of_cluster,
    )
    direct.execute(
        """INSERT INTO series (cluster_id, metric, labels, worker_id, type, identity)
           SELECT cluster_id, 'observatory_worker_memory_bytes', '{"type": "spilled"}', id, 0,
                  gen_random_uuid()
           FROM worker
           WHERE cluster_id = %s AND name LIKE '%%xxx'""",
        of_cluster,
    )


def test_a_hundred_thousand_prefixes_make_a_small_answer_with_those_that_computed(
    cluster: Cluster, writer: Writer, now: float, member: Client, direct: psycopg.Connection
) -> None:
    add_prefixes(direct, cluster, MANY)
    fill(writer, cluster, now)
    answer = member.get(f"/api/v1/clusters/{cluster.pk}/lanes")
    assert len(answer.content) < MEGABYTE
    found = answer.json()
    assert_documented(Lanes, found)
    assert len(found["prefixes"]) == listed_lanes.MOST_PREFIXES
    assert {prefix["name"] for prefix in found["prefixes"] if prefix["seconds"]} == {"inc", "sum"}
    left_out = MANY + 2 - listed_lanes.MOST_PREFIXES
    assert found["left_out"] == {"workers": 0, "lanes": 0, "prefixes": left_out, "series": 0}
    state = member.get(f"/api/v1/clusters/{cluster.pk}/state?at={now + 5}")
    assert len(state.content) < MEGABYTE


def test_names_that_are_left_out_are_answered_some_at_a_time(
    cluster: Cluster, writer: Writer, now: float, member: Client, direct: psycopg.Connection
) -> None:
    add_prefixes(direct, cluster, 3_000)
    fill(writer, cluster, now)
    url = f"/api/v1/clusters/{cluster.pk}"
    listed = {prefix["id"] for prefix in member.get(f"{url}/lanes").json()["prefixes"]}
    rows = direct.execute("SELECT id, name FROM prefix WHERE cluster_id = %s ORDER BY id", [cluster.pk])
    unlisted = {id: name for id, name in rows.fetchall() if id not in listed}
    some = list(unlisted)[:MAXIMUM_NAMES]
    found = member.get(f"{url}/prefix-names?ids={','.join(map(str, some))}").json()
    assert_documented(list[PrefixName], found)
    assert {each["id"]: each["name"] for each in found} == {id: unlisted[id] for id in some}
    too_many = ",".join(map(str, range(MAXIMUM_NAMES + 1)))
    for ids, status in ((too_many, 422), ("x", 422), ("", 422), ("2147483647", 200)):
        assert member.get(f"{url}/prefix-names?ids={ids}").status_code == status, ids


def test_a_link_answers_the_names_of_its_run_alone(
    cluster: Cluster, writer: Writer, now: float, direct: psycopg.Connection
) -> None:
    fill(writer, cluster, now)
    other = Span(A, 1, "other-1", "other", "other", Action.COMPUTE, now + 30, now + 31, 8, "int")
    sampled = [
        (now + at, A, "task", prefix, "main\tmain.py\t1", 3)
        for at, prefix in ((10, "method-of-an-actor"), (30, "another-method"))
    ]
    writer.write(Batch.of(cluster.pk, spans=[other], rows={"profile": sampled}, committed=now + 60))
    run = Run.objects.create(
        cluster=cluster, name="a", origin="cut", start=from_seconds(now), stop=from_seconds(now + 20)
    )
    token = make_link(Permalink(run=run, audience="anyone"), User.objects.create_user("jane")).token
    rows = direct.execute("SELECT id FROM prefix WHERE cluster_id = %s", [cluster.pk]).fetchall()
    ids = ",".join(str(id) for (id,) in rows)
    found = Client().get(f"/api/v1/r/{token}/prefix-names?ids={ids}").json()
    assert {each["name"] for each in found} == {"inc", "sum", "method-of-an-actor"}


def test_the_newest_of_a_hundred_thousand_workers_are_listed_with_their_lanes_and_series(
    cluster: Cluster, writer: Writer, now: float, member: Client, direct: psycopg.Connection
) -> None:
    add_workers(direct, cluster, MANY)
    answer = member.get(f"/api/v1/clusters/{cluster.pk}/lanes")
    assert len(answer.content) < 8 * MEGABYTE
    found = answer.json()
    workers = found["workers"]
    assert 2_000 < len(workers) < 10_000
    assert {worker["name"] for worker in workers} == {
        f"w{number}{LONG_TEXT}" for number in range(MANY - len(workers) + 1, MANY + 1)
    }
    ids = {worker["id"] for worker in workers}
    assert {lane["worker"] for lane in found["lanes"]} == ids
    [series] = found["series"]["memory"]
    assert set(series["workers"]) == ids
    left = MANY - len(workers)
    assert found["left_out"] == {"workers": left, "lanes": 2 * left, "prefixes": 0, "series": left}


def test_lanes_and_series_of_few_workers_are_bounded_too(
    cluster: Cluster, writer: Writer, now: float, member: Client, direct: psycopg.Connection
) -> None:
    fill(writer, cluster, now)
    [(worker,)] = direct.execute(
        "SELECT id FROM worker WHERE cluster_id = %s ORDER BY id LIMIT 1", [cluster.pk]
    ).fetchall()
    direct.execute(
        """INSERT INTO lane (cluster_id, worker_id, thread, position)
           SELECT %s, %s, number + 100, number + 100 FROM generate_series(1, 150000) AS number""",
        [cluster.pk, worker],
    )
    direct.execute(
        """INSERT INTO series (cluster_id, metric, labels, worker_id, type, identity)
           SELECT %s, 'observatory_worker_memory_bytes', jsonb_build_object('type', number || %s), %s, 0,
                  gen_random_uuid()
           FROM generate_series(1, 50000) AS number""",
        [cluster.pk, LONG_TEXT, worker],
    )
    answer = member.get(f"/api/v1/clusters/{cluster.pk}/lanes")
    assert len(answer.content) < 14 * MEGABYTE
    found = answer.json()
    assert len(found["lanes"]) == listed_lanes.MOST_LANES
    assert found["left_out"]["lanes"] > 50_000
    assert found["left_out"]["series"] > 30_000
    assert any(group["labels"] == {"type": "process"} for group in found["series"]["memory"])


def test_the_state_lists_the_prefixes_with_most_tasks_and_adds_up_the_others(
    cluster: Cluster, writer: Writer, now: float, member: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = [
        make_span(f"p{number:02}-{task}", now + task, now + task + 0.5)
        for number in range(20)
        for task in range(number + 1)
    ]
    writer.write(Batch.of(cluster.pk, spans=spans, committed=now + 60))
    url = f"/api/v1/clusters/{cluster.pk}/state?at={now + 50}"
    whole = member.get(url).json()
    assert whole["other_progress"] is None
    monkeypatch.setattr(progress, "MOST_PREFIXES", 5)
    state = member.get(url).json()
    assert_documented(State, state)
    assert {row["name"]: row["done"] for row in state["progress"]} == {
        f"p{number}": number + 1 for number in range(15, 20)
    }
    assert [row["name"] for row in state["progress"]] == [
        row["name"] for row in whole["progress"] if row["name"] >= "p15"
    ]
    others = state["other_progress"]
    assert (others["prefixes"], others["done"]) == (15, sum(range(1, 16)))
    assert others["seconds"] == pytest.approx(0.5 * sum(range(1, 16)))
    assert state["totals"] == whole["totals"]


def test_a_batch_with_many_new_prefixes_sends_live_pages_some_of_them(
    cluster: Cluster, writer: Writer, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publication, "MOST_PREFIXES", 5)
    spans = [make_span(f"p{number}-1", now, now + 1) for number in range(20)]
    committed = writer.write(Batch.of(cluster.pk, spans=spans, committed=now + 60))
    frames: list[Any] = list(publication.frames(committed, {}, SampleIntervals()))
    blocks = [block for frame in frames for block in decode(frame)]
    [named] = [block.meta["items"] for block in blocks if block.kind == "prefix"]
    assert len(named) == 5
    assert sum(block.rows for block in blocks if block.kind == "span") == 20
