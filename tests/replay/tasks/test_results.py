"""The results in memory at a time, compared with a scheduler's own list and with one beside the records."""

from __future__ import annotations

import os
import random
import time
from typing import Any

import dask
import psycopg
import pytest
from distributed import Client as DaskClient
from distributed import LocalCluster, Scheduler, Worker, wait

import observatory.agent
from observatory.clusters.models import Cluster
from observatory.clusters.tokens import ingest_tokens
from observatory.replay.playhead_schemas import ResultsInMemory
from observatory.replay.results import results_of
from observatory.replay.scope import Scope
from observatory.replay.tasks import build_cluster
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance import result_keyframes
from observatory.wire.records import WorkerSeen
from tests.agent.eventually import eventually
from tests.agent.fake_server import TOKEN, fake_server
from tests.replay.records import A, B, make_span
from tests.support.agent_batches import store_batches
from tests.support.response_schemas import assert_documented

Held = dict[str, tuple[int | None, float]]
"""size and since when, by key"""


def held_by(dask_scheduler: Scheduler) -> tuple[float, dict[str, tuple[int, set[str]]]]:
    tasks = dask_scheduler.tasks.values()
    return time.time(), {
        str(task.key): (task.nbytes, {worker.address for worker in task.who_has or ()})
        for task in tasks
        if task.state == "memory"
    }


def now_there() -> float:
    return time.time()


def at(connection: psycopg.Connection, scope: Scope, seconds: float, **asked: Any) -> dict[str, Any]:
    found = results_of(connection, scope, round(seconds * 1e6), **asked)
    assert_documented(ResultsInMemory, found)
    return found


def test_results_at_a_moment_are_those_that_the_scheduler_held_then(
    cluster: Cluster, direct: psycopg.Connection
) -> None:
    moments = []
    with (
        fake_server() as received,
        LocalCluster(n_workers=2, processes=False, dashboard_address="127.0.0.1:0") as local,
        DaskClient(local) as client,
    ):
        observatory.agent.register(client, url=received.url, token=TOKEN, flush_interval="100ms")
        kept = client.map(bytes, [1000 * size for size in range(1, 21)], pure=False)
        dropped = client.map(bytes, [500_000] * 5, pure=False)
        wait([*kept, *dropped])
        moments.append(client.run_on_scheduler(held_by))
        del dropped
        while len(client.run_on_scheduler(held_by)[1]) > len(kept):
            time.sleep(0.01)
        moments.append(client.run_on_scheduler(held_by))
        later = client.submit(bytes, 7, pure=False)
        wait(later)
    _, secret = ingest_tokens.make(cluster.project, "tests", None)
    store_batches(received.bodies, secret)
    scope = Scope(Cluster.objects.exclude(pk=cluster.pk).latest("pk"))
    query = "SELECT id, address FROM worker WHERE cluster_id = %s"
    addresses = dict(direct.execute(query, [scope.cluster.pk]).fetchall())
    assert [len(held) for _, held in moments] == [25, 20]
    for moment, held in moments:
        found = at(direct, scope, moment)
        assert {row["key"] for row in found["results"]} == set(held)
        total = sum(nbytes for nbytes, _ in held.values())
        assert found["total"] == {"count": len(held), "nbytes": total, "unsized": 0}
        for row in found["results"]:
            nbytes, workers = held[row["key"]]
            assert row["nbytes"] == nbytes
            assert addresses[row["worker"]] in workers
            assert row["since"] <= moment
        sizes = [row["nbytes"] for row in found["results"]]
        assert sizes == sorted(sizes, reverse=True)


SPILLING = {"target": 0.3, "spill": False, "pause": False, "terminate": False}
"""by what it holds alone: the process is that of the tests"""


def on_disk_of(dask_worker: Worker) -> dict[str, int]:
    sizes = dask_worker.data._slow_uncached.weight_by_key  # type: ignore[union-attr]
    return {str(key): size.disk for key, size in sizes.items()}


def ask(*results: bytes) -> int:
    return sum(map(len, results))


def test_results_that_a_worker_spilled_are_marked_with_their_size_on_disk(
    cluster: Cluster, direct: psycopg.Connection
) -> None:
    """A worker keeps 24 MB in memory. Most of ten results of 8 MB are spilled; one that is read returns."""
    moments: list[tuple[float, dict[str, int]]] = []
    keys = [f"made-{number}" for number in range(8)] + [("made", number) for number in range(2)]
    with (
        fake_server() as received,
        dask.config.set({f"distributed.worker.memory.{name}": share for name, share in SPILLING.items()}),
        LocalCluster(
            n_workers=1, threads_per_worker=1, memory_limit="80MB", processes=False,
            dashboard_address="127.0.0.1:0", silence_logs="CRITICAL",
        ) as local,
        DaskClient(local) as client,
    ):  # fmt: skip
        observatory.agent.register(client, url=received.url, token=TOKEN, flush_interval="100ms")

        def told() -> dict[str, int]:
            """What the reports that arrived say is on disk."""
            found = {row["key"]: int(row["nbytes"]) for row in received.rows["spill"]}
            return {key: nbytes for key, nbytes in found.items() if nbytes}

        def look() -> None:
            [held] = client.run(on_disk_of).values()
            eventually(lambda: told() == held)
            moments.append((client.run_on_scheduler(now_there), held))

        made = [client.submit(os.urandom, 8_000_000, key=key) for key in keys]
        wait(made)
        look()
        first = next(future for future in made if str(future.key) in moments[0][1])
        assert client.submit(ask, first).result() == 8_000_000
        look()
        made.remove(first)
        del first
        eventually(lambda: len(client.run_on_scheduler(held_by)[1]) == len(made))
        look()
    _, secret = ingest_tokens.make(cluster.project, "tests", None)
    store_batches(received.bodies, secret)
    scope = Scope(Cluster.objects.exclude(pk=cluster.pk).latest("pk"))
    assert len(moments[0][1]) >= 7
    assert moments[0][1] != moments[1][1]
    for moment, held in moments:
        found = at(direct, scope, moment)
        assert found["spilling_unknown"] == []
        assert {row["key"]: row["spilled"] for row in found["results"]} == {
            row["key"]: [{"worker": row["worker"], "nbytes": held[row["key"]]}] if row["key"] in held else []
            for row in found["results"]
        }
        assert set(held) <= {row["key"] for row in found["results"]}


def test_workers_that_do_not_tell_what_they_spilled_are_named(
    cluster: Cluster, direct: psycopg.Connection, writer: Writer, now: float
) -> None:
    telling = WorkerSeen(A, "a", "127.0.0.1", 2, 1000, now, detail={"reports_spilled": True})
    silent = WorkerSeen(B, "b", "127.0.0.1", 2, 1000, now, detail={"reports_spilled": False})
    stock = WorkerSeen("tcp://c", "c", "127.0.0.1", 2, 1000, now)
    transitions = [(now + 1, "inc-1", "processing", "memory", A, "")]
    spills = [(now + 2, "inc-1", A, 100.0), (now + 2, "inc-1", B, 90.0), (now + 4, "inc-1", A, 0.0)]
    rows = {"transition": transitions, "spill": spills}
    writer.write(Batch.of(cluster.pk, [telling, silent, stock], [], committed=now + 9, rows=rows))
    query = "SELECT address, id FROM worker WHERE cluster_id = %s"
    ids = dict(direct.execute(query, [cluster.pk]).fetchall())
    before, during, after = (at(direct, Scope(cluster), now + second) for second in (1.5, 3, 5))
    assert set(during["spilling_unknown"]) == {ids[B], ids["tcp://c"]}
    assert at(direct, Scope(cluster), now + 3, worker=ids[A])["spilling_unknown"] == []
    assert before["results"][0]["spilled"] == []
    places = {place["worker"]: place["nbytes"] for place in during["results"][0]["spilled"]}
    assert places == {ids[A]: 100, ids[B]: 90}
    assert after["results"][0]["spilled"] == [{"worker": ids[B], "nbytes": 90}]


@pytest.fixture
def kept_list(cluster: Cluster, writer: Writer, now: float) -> list[tuple[float, Held]]:
    """Some thousand changes of results, written as records; the results in memory at some times."""
    chosen = random.Random(1)
    seen = [WorkerSeen(A, "a", "127.0.0.1", 2, 1000, now), WorkerSeen(B, "b", "127.0.0.1", 2, 0, now)]
    spans, transitions, kept = [], [], []
    held: Held = {}
    for number in range(4000):
        moment = round(now + number * 0.1, 6)
        key = f"inc-{chosen.randrange(300)}"
        if key in held:
            del held[key]
            transitions.append((moment, key, "memory", "released", "", ""))
            transitions.append((moment, key, "released", "forgotten", "", ""))
        else:
            nbytes = chosen.randrange(1_000_000)
            held[key] = (nbytes, moment)
            worker = chosen.choice([A, B])
            span = make_span(key, moment - 0.05, moment - 0.01, worker)
            spans.append(span._replace(nbytes=nbytes))
            transitions.append((moment, key, "waiting", "processing", worker, ""))
            transitions.append((moment, key, "processing", "memory", worker, ""))
        if number % 397 == 0:
            kept.append((moment, dict(held)))
    rows = {"transition": transitions}
    writer.write(Batch.of(cluster.pk, seen, spans, committed=now + 1000, rows=rows))
    return kept


def check(connection: psycopg.Connection, cluster: Cluster, kept: list[tuple[float, Held]]) -> None:
    for moment, held in kept:
        found = at(connection, Scope(cluster), moment)
        assert {row["key"]: (row["nbytes"], row["since"]) for row in found["results"]} == {
            key: (nbytes, pytest.approx(since, abs=2e-6)) for key, (nbytes, since) in held.items()
        }
        assert found["total"] == {
            "count": len(held),
            "nbytes": sum(nbytes or 0 for nbytes, _ in held.values()),
            "unsized": 0,
        }


def test_keyframes_change_nothing_and_a_late_record_drops_those_after_it(
    cluster: Cluster,
    direct: psycopg.Connection,
    writer: Writer,
    now: float,
    kept_list: list[tuple[float, Held]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def keyframes() -> list[int]:
        query = "SELECT index FROM tile WHERE cluster_id = %s AND layer = 'results' ORDER BY index"
        return [index for (index,) in direct.execute(query, [cluster.pk]).fetchall()]

    check(direct, cluster, kept_list)
    assert keyframes() == []
    monkeypatch.setattr(result_keyframes, "MANY_CHANGES", 500)
    build_cluster(direct, cluster)
    before = keyframes()
    assert len(before) >= 4
    check(direct, cluster, kept_list)
    late = (now + 200, "inc-late", "processing", "memory", A, "")
    writer.write(Batch.of(cluster.pk, committed=now + 1000, rows={"transition": [late]}))
    left = keyframes()
    assert 0 < len(left) < len(before)
    last = {row["key"] for row in at(direct, Scope(cluster), kept_list[-1][0])["results"]}
    assert last == {*kept_list[-1][1], "inc-late"}
    assert len(keyframes()) > len(left), "the request makes them again, as far as it needs them"


def test_a_keyframe_names_the_largest_results_and_counts_the_others(
    cluster: Cluster,
    direct: psycopg.Connection,
    kept_list: list[tuple[float, Held]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(result_keyframes, "MANY_CHANGES", 500)
    monkeypatch.setattr(result_keyframes, "MOST_RESULTS", 20)
    for moment, held in kept_list[-3:]:
        found = at(direct, Scope(cluster), moment)
        assert found["total"]["count"] < len(held)
        assert found["total"]["count"] + found["unnamed"] == len(held)
        assert {row["key"] for row in found["results"]} < set(held)


def test_one_can_ask_for_a_part_of_the_key_and_for_a_worker(
    cluster: Cluster, direct: psycopg.Connection, kept_list: list[tuple[float, Held]]
) -> None:
    moment, held = kept_list[-1]
    found = at(direct, Scope(cluster), moment, text="INC-1")
    assert {row["key"] for row in found["results"]} == {key for key in held if key.startswith("inc-1")}
    assert found["total"]["count"] == len(held)
    ids = dict(
        direct.execute("SELECT address, id FROM worker WHERE cluster_id = %s", [cluster.pk]).fetchall()
    )
    of_each = [at(direct, Scope(cluster), moment, worker=ids[address]) for address in (A, B)]
    assert sum(found["found"]["count"] for found in of_each) == len(held)
    assert {row["worker"] for row in of_each[0]["results"]} == {ids[A]}


def test_a_public_window_has_no_results_from_before_it_nor_from_after(
    cluster: Cluster, direct: psycopg.Connection, kept_list: list[tuple[float, Held]]
) -> None:
    (start, _), (stop, held) = kept_list[3], kept_list[6]
    window = round(start * 1e6), round(stop * 1e6) + 1
    public = at(direct, Scope(cluster, *window, is_public=True), stop + 100)
    inside = {key for key, (_, since) in held.items() if since >= start}
    assert {row["key"] for row in public["results"]} == inside < set(held)
    assert (public["total"]["count"], public["unnamed"]) == (len(inside), 0)
    assert public["at"] <= window[1] / 1e6
    of_run = at(direct, Scope(cluster, *window), stop + 100)
    assert {row["key"] for row in of_run["results"]} == set(held)
