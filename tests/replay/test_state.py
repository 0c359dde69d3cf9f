"""The state at a point in time: progress, tasks by state, workers."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from random import Random
from typing import Any

import psycopg
import pytest
from django.test import Client

from observatory.clusters.models import Cluster
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance import keyframes
from observatory.store.queries.extents import read_extent
from observatory.store.queries.state import last_rates, last_samples
from observatory.store.times import seconds_to_microseconds
from observatory.wire.records import Action, Event, Sample, Series, WorkerGone, WorkerSeen
from tests.replay.records import A, B, fill, make_span
from tests.support.query_plans import PlannedConnection


def _at(client: Client, cluster: Cluster, at: float) -> Any:
    return client.get(f"/api/v1/clusters/{cluster.pk}/state?at={at}").json()


def test_a_keyframe_of_an_outdated_count_is_not_stored(
    cluster: Cluster, writer: Writer, now: float, direct: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyframes, "MANY_RECORDS", 1)
    fill(writer, cluster, now)
    writer.write(Batch.of(cluster.pk, committed=now + 1500))
    outdated = read_extent(direct, cluster.pk)
    writer.write(Batch.of(cluster.pk, spans=[make_span("inc-9", now + 3, now + 4)]))
    current = read_extent(direct, cluster.pk)
    assert outdated is not None
    assert current is not None
    until = seconds_to_microseconds(now + 1000)  # so long after it that fewer tasks make one, too
    assert keyframes.make_keyframes(direct, outdated, until) == 0
    assert keyframes.make_keyframes(direct, current, until) > 0
    counts = "SELECT counts FROM keyframe WHERE cluster_id = %s ORDER BY time DESC LIMIT 1"
    assert sum((direct.execute(counts, [cluster.pk]).fetchone() or ([],))[0][:: keyframes.WIDTH]) == 4


def test_the_state_counts_what_happened_until_its_time(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    fill(writer, cluster, now)

    def done(at: float) -> dict[str, int]:
        return {row["name"]: row["done"] for row in _at(member, cluster, at)["progress"]}

    assert done(now + 1.2) == {}
    assert done(now + 1.25) == {"inc": 1}
    assert done(now + 8) == {"inc": 1, "sum": 1}
    assert done(now + 12) == {"inc": 2, "sum": 1}
    state = _at(member, cluster, now + 5.5)
    [inc] = [row for row in state["progress"] if row["name"] == "inc"]
    assert inc["total"] == 7
    a, b = state["workers"]
    assert (a["memory"], a["running"], a["limit"]) == (105.0, 1, 1000)
    assert (b["memory"], b["running"]) == (None, 1)


def test_progress_after_a_gap_is_what_the_scheduler_counted_without_scattered_data(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    fill(writer, cluster, now)

    def entered(prefix: str, state: str) -> Series:
        labels = (("state", state), ("task_prefix_name", prefix))
        return Series("dask_scheduler_prefix_state_totals_total", labels)

    counted = [
        ("inc", "waiting", 5_000),
        ("inc", "memory", 3_100),
        ("inc", "erred", 140),
        ("ndarray", "memory", 9),
    ]
    samples = [Sample(entered(prefix, state), now + 14, count) for prefix, state, count in counted]
    gap = {"first": now + 13, "last": now + 14}
    events = [Event(now + 13, "not-observed", "", gap)]
    writer.write(Batch.of(cluster.pk, samples=samples, events=events, committed=now + 20))

    def inc(at: float) -> tuple[int, int, int]:
        [row] = [row for row in _at(member, cluster, at)["progress"] if row["name"] == "inc"]
        return row["done"], row["total"], row["erred"]

    assert inc(now + 13) == (2, 7, 0)
    assert inc(now + 15) == (3_100, 5_000, 140)
    assert {row["name"] for row in _at(member, cluster, now + 15)["progress"]} == {"inc", "sum"}


def test_tasks_that_were_cancelled_or_sent_again_are_not_missing_from_progress(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    fill(writer, cluster, now)
    entered = [("waiting", 1_185), ("processing", 1_185), ("released", 1_185), ("memory", 720)]
    states = {"waiting": 0, "queued": 20, "no-worker": 0, "processing": 10}
    samples = [
        *(
            Sample(
                Series(
                    "dask_scheduler_prefix_state_totals_total",
                    (("state", state), ("task_prefix_name", "inc")),
                ),
                now + 14,
                count,
            )
            for state, count in entered
        ),
        *(
            Sample(Series("observatory_cluster_tasks", (("state", state),)), now + second, count * is_busy)
            for second, is_busy in ((14, 1), (15, 0))
            for state, count in states.items()
        ),
    ]
    writer.write(Batch.of(cluster.pk, samples=samples, committed=now + 20))

    def inc(at: float) -> tuple[int, int]:
        [row] = [row for row in _at(member, cluster, at)["progress"] if row["name"] == "inc"]
        return row["done"], row["total"]

    assert inc(now + 14) == (720, 750)
    assert inc(now + 15) == (720, 720)


def test_the_state_at_any_time_equals_a_count_of_the_records(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    random = Random(2)
    actions = (Action.COMPUTE, Action.COMPUTE, Action.TRANSFER)
    spans = []
    for number in range(300):
        start = now + random.randrange(20_000) / 1000
        stop = start + random.randrange(4_000) / 1000
        key = f"{random.choice(('inc', 'sum', 'mean'))}-{number}"
        spans.append(make_span(key, start, stop, random.choice((A, B)), random.choice(actions)))
    seen = [WorkerSeen(A, "a", "h", 2, 1000, now), WorkerSeen(B, "b", "h", 3, 0, now)]
    writer.write(Batch.of(cluster.pk, workers=seen, spans=spans, committed=now + 3600))
    writer.write(Batch.of(cluster.pk, gone=[WorkerGone(B, now + 18, "removed")]))
    for at in (now + 0.5, now + 9.123, spans[7].stop, now + 21, now + 30):
        computed = [span for span in spans if span.action == Action.COMPUTE]
        done = [span for span in computed if span.stop <= at]
        state = _at(member, cluster, at)
        assert {row["name"]: row["done"] for row in state["progress"]} == Counter(
            span.prefix for span in done
        )
        seconds = sum(row["seconds"] for row in state["progress"])
        assert seconds == pytest.approx(sum(span.stop - span.start for span in done), abs=1e-3)
        running = {span.worker for span in computed if span.start <= at < span.stop}
        alive = [A, B] if at < now + 18 else [A]
        assert [worker["running"] for worker in state["workers"]] == [int(each in running) for each in alive]
        assert state["totals"]["threads"] == (5 if at < now + 18 else 2)
        assert state["totals"]["tasks"] == len(done)


def test_tasks_by_state_are_the_last_samples_unless_these_are_too_old(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    def count(metric: str, state: str) -> Series:
        return Series(metric, (("state", state),))

    samples = [
        Sample(count("observatory_cluster_tasks", "memory"), now, 3),
        Sample(count("observatory_cluster_tasks", "memory"), now + 1, 4),
        Sample(count("dask_scheduler_tasks", "memory"), now, 2),
        Sample(count("dask_scheduler_tasks", "queued"), now, 9),
    ]
    writer.write(Batch.of(cluster.pk, samples=samples))
    assert _at(member, cluster, now + 0.5)["tasks"] == {"memory": 3, "queued": 9}
    assert _at(member, cluster, now + 1)["tasks"] == {"memory": 4, "queued": 9}
    assert _at(member, cluster, now + 10)["tasks"] == {"memory": 2, "queued": 9}
    assert _at(member, cluster, now + 40)["tasks"] == {}


def test_running_tasks_at_the_live_edge_are_those_that_workers_report(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    fill(writer, cluster, now)
    executing = Series("dask_worker_tasks", (("state", "executing"),), A)
    resting = Series("dask_worker_tasks", (("state", "memory"),), B)
    samples = [Sample(executing, now + 20, 2.0), Sample(resting, now + 20, 5.0)]
    writer.write(Batch.of(cluster.pk, samples=samples, committed=now + 22))
    assert [worker["running"] for worker in _at(member, cluster, now + 22)["workers"]] == [2, 0]
    writer.write(Batch.of(cluster.pk, committed=now + 31))
    assert [worker["running"] for worker in _at(member, cluster, now + 30)["workers"]] == [0, 0]
    writer.write(Batch.of(cluster.pk, committed=now + 60))
    assert [worker["running"] for worker in _at(member, cluster, now + 22)["workers"]] == [0, 0]


def test_a_worker_without_processing_tasks_runs_none_despite_an_older_heartbeat(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    fill(writer, cluster, now)
    executing = Series("observatory_worker_tasks", (("state", "executing"),), A)
    processing = Series("observatory_worker_processing_tasks", (), A)
    samples = [Sample(executing, now + 20, 2.0), Sample(processing, now + 21, 0.0)]
    writer.write(Batch.of(cluster.pk, samples=samples, committed=now + 22))
    assert [worker["running"] for worker in _at(member, cluster, now + 20.5)["workers"]] == [2, 0]
    assert [worker["running"] for worker in _at(member, cluster, now + 22)["workers"]] == [0, 0]


def test_an_old_heartbeat_is_ignored(member: Client, cluster: Cluster, writer: Writer, now: float) -> None:
    fill(writer, cluster, now)
    writer.write(Batch.of(cluster.pk, committed=now + 60))
    a, _ = _at(member, cluster, now + 40)["workers"]
    assert a["memory"] is None


def test_a_worker_without_heartbeats_is_silent_and_what_it_runs_is_unknown(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    fill(writer, cluster, now)  # the last heartbeat of A is at 9 s; B has none
    waiting = Series("observatory_cluster_tasks", (("state", "waiting"),))
    counts = [Sample(waiting, now + second, 0.0) for second in range(31)]
    writer.write(Batch.of(cluster.pk, samples=counts, committed=now + 30))

    def a(at: float) -> tuple[Any, ...]:
        worker = _at(member, cluster, now + at)["workers"][0]
        heard = worker["heard"] and round(worker["heard"] - now, 3)
        return heard, worker["is_silent"], worker["memory"], worker["running"]

    assert a(9.5) == (9, False, 109, 1)
    assert a(14) == (9, False, 109, 0)
    assert a(15) == (9, True, 109, None)
    assert a(30) == (9, True, None, None)
    assert _at(member, cluster, now + 30)["workers"][1]["heard"] is None
    writer.write(Batch.of(cluster.pk, committed=now + 90))
    assert a(15) == (9, True, 109, 0)  # all spans of the past are known


def test_a_poll_that_comes_late_makes_no_worker_silent(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    fill(writer, cluster, now)
    waiting = Series("observatory_cluster_tasks", (("state", "waiting"),))
    writer.write(Batch.of(cluster.pk, samples=[Sample(waiting, now + 9, 0.0)], committed=now + 30))
    assert not any(worker["is_silent"] for worker in _at(member, cluster, now + 12)["workers"])
    assert not any(worker["is_silent"] for worker in _at(member, cluster, now + 30)["workers"])


def test_why_tasks_cannot_run_is_what_the_agent_reported(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    fill(writer, cluster, now)
    metric = "observatory_cluster_unrunnable_tasks"
    gpu, gone = (Series(metric, (("reason", each),)) for each in ("no GPU", "gone"))
    samples = [Sample(gpu, now + 5, 3.0), Sample(gone, now + 4, 2.0), Sample(gone, now + 5, 0.0)]
    writer.write(Batch.of(cluster.pk, samples=samples))
    assert _at(member, cluster, now + 4.5)["unrunnable"] == {"gone": 2}
    assert _at(member, cluster, now + 6)["unrunnable"] == {"no GPU": 3}
    assert _at(member, cluster, now + 20)["unrunnable"] == {}


def test_a_worker_has_the_status_that_it_had_then(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    changes = [(now + 3, "paused"), (now + 5, "running"), (now + 8, "closed")]
    events = [Event(time, "worker-status", A, {"status": status}) for time, status in changes]
    fill(writer, cluster, now)
    writer.write(Batch.of(cluster.pk, events=events))
    writer.write(Batch.of(cluster.pk, gone=[WorkerGone(A, now + 9, "lost"), WorkerGone(B, now + 9, "lost")]))
    Cluster.objects.filter(pk=cluster.pk).update(ended=datetime.fromtimestamp(now + 20, UTC))

    def statuses(at: float) -> list[str]:
        return [worker["status"] for worker in _at(member, cluster, at)["workers"]]

    assert statuses(now + 2) == ["running", "running"]
    assert statuses(now + 4) == ["paused", "running"]
    assert statuses(now + 6) == ["running", "running"]
    assert statuses(now + 8.5) == ["closed", "running"]


def test_samples_of_workers_that_left_are_not_looked_for(
    cluster: Cluster, writer: Writer, now: float, direct: psycopg.Connection
) -> None:
    cpu, gil = "observatory_worker_cpu_percent", "dask_worker_gil_contention_seconds_total"
    series = [Series(metric, (), worker) for metric in (cpu, gil) for worker in (A, B)]
    samples = [Sample(one, now + second, second) for one in series for second in (2, 4)]
    workers = [WorkerSeen(worker, worker, "host", 1, 0, now) for worker in (A, B)]
    writer.write(Batch.of(cluster.pk, workers=workers, samples=samples))
    writer.write(Batch.of(cluster.pk, gone=[WorkerGone(A, now + 5, "lost")]))

    def found(second: float) -> tuple[int, int]:
        at = seconds_to_microseconds(now + second)
        last = last_samples(direct, cluster.pk, (cpu,), at, 60)
        return len(last), len(last_rates(direct, cluster.pk, gil, at, 60))

    assert found(4.5) == (2, 2)
    assert found(6) == (1, 1), "the lost worker's samples are young enough"


def test_series_of_workers_that_left_are_not_read(
    cluster: Cluster, writer: Writer, now: float, direct: psycopg.Connection
) -> None:
    cpu, gil = "observatory_worker_cpu_percent", "dask_worker_gil_contention_seconds_total"
    left = [f"tcp://10.0.0.9:{port}" for port in range(4000, 4300)]
    workers = [WorkerSeen(worker, worker, "host", 1, 0, now) for worker in (A, *left)]
    series = [Series(metric, (), worker) for metric in (cpu, gil) for worker in (A, *left)]
    samples = [Sample(one, now + second, second) for one in series for second in (2, 4)]
    writer.write(Batch.of(cluster.pk, workers=workers, samples=samples))
    writer.write(Batch.of(cluster.pk, gone=[WorkerGone(worker, now + 5, "lost") for worker in left]))
    direct.execute("ANALYZE series, worker")
    planned: Any = PlannedConnection(direct)
    at = seconds_to_microseconds(now + 6)
    [sample] = last_samples(planned, cluster.pk, (cpu,), at, 60)
    assert sample.value == 4
    assert planned.rows_read("series") < 10
    assert len(last_rates(planned, cluster.pk, gil, at, 60)) == 1
    assert planned.rows_read("series") < 10


def test_the_live_state_has_one_instant_of_which_everything_is_known(
    member: Client, cluster: Cluster, writer: Writer, now: float
) -> None:
    memory = Series("observatory_cluster_tasks", (("state", "memory"),))
    samples = [Sample(memory, now + 1.5, 1.0), Sample(memory, now + 2.5, 2.0)]
    spans = [make_span(f"inc-{number}", now + number, now + number + 1, A) for number in range(3)]
    workers = [WorkerSeen(A, "a", "h", 1, 1000, now)]
    writer.write(Batch.of(cluster.pk, workers=workers, spans=spans, samples=samples, committed=now + 2.2))
    for asked in (now + 2.3, now + 60):
        state = _at(member, cluster, asked)
        assert state["at"] == state["tasks_at"] == pytest.approx(now + 1.5, abs=1e-5)
        assert state["totals"]["tasks"] == state["tasks"]["memory"] == 1
    assert _at(member, cluster, now + 2.1)["at"] == pytest.approx(now + 2.1, abs=1e-5)
    Cluster.objects.filter(pk=cluster.pk).update(ended=datetime.fromtimestamp(now + 3, UTC))
    assert _at(member, cluster, now + 60)["at"] == pytest.approx(now + 60, abs=1e-5)
