"""The workers, hosts and tasks of a window that stand out."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.replay.pseudonyms import read_pseudonyms
from observatory.replay.scope import Scope
from observatory.replay.windows import outliers
from observatory.replay.windows.outlier_schemas import Outliers
from observatory.replay.windows.outliers import MOST_OUTLIERS, outliers_of
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.windows import outliers as store
from observatory.store.times import MAXIMUM_TIME
from observatory.wire.records import Action, Span, WorkerSeen
from tests.replay.conftest import make_cluster
from tests.support.recorded_cluster import GIB, START, Recorded
from tests.support.response_schemas import assert_documented

pytestmark = pytest.mark.django_db(transaction=True)

USUAL, SLOW = "tcp://10.1.2.3:4000", "tcp://10.1.2.3:4001"


@pytest.fixture
def cluster(transactional_db: None) -> Cluster:
    return make_cluster(START - 100)


@pytest.fixture
def recorded(cluster: Cluster, direct: psycopg.Connection) -> Recorded:
    return Recorded(direct, cluster.pk)


def compute(cluster: Cluster, *spans: Span) -> None:
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, spans=spans))


def span(
    worker: str,
    start: float,
    stop: float,
    prefix: str = "inc",
    action: Action = Action.COMPUTE,
) -> Span:
    key = f"{prefix}-{worker[-4:]}-{start}"
    return Span(worker, 1, key, prefix, prefix, action, START + start, START + stop, 1000, "int")


def fetch(worker: str, start: float) -> Span:
    """What Dask says of a transfer: its `nbytes` are those of the waiting task's result."""
    return span(worker, start, start + 1, action=Action.TRANSFER)


def receive(cluster: Cluster, *transfers: tuple[str, float, float]) -> None:
    """Entries of workers' logs of transfers: worker, start, bytes."""
    rows = [
        (START + start, START + start + 1, worker, "tcp://10.9.9.9:1", 0, float(nbytes), 0.0, {}, 1)
        for worker, start, nbytes in transfers
    ]
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, rows={"transfer": rows}))


def figure(
    direct: psycopg.Connection,
    cluster: Cluster,
    name: str,
    after: float = 0,
    before: float = MAXIMUM_TIME / 1e6 - 1,
) -> dict[int, Any]:
    """The known values of a figure by worker."""
    found = outliers_of(direct, Scope(cluster), round(after * 1e6), round(before * 1e6))
    assert_documented(Outliers, found)
    return {row["worker"]: row[name] for row in found["workers"] if row[name] is not None}


def test_a_worker_is_compared_by_the_medians_of_the_prefixes_of_its_tasks(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    usual, slow = recorded.worker(USUAL, "w0"), recorded.worker(SLOW, "w1")
    spans = [span(USUAL, number * 10, number * 10 + 1) for number in range(5)]
    spans += [span(SLOW, 100, 103), span(SLOW, 110, 111), span(SLOW, 120, 130, "load")]
    compute(cluster, *spans)
    assert figure(direct, cluster, "duration_ratio") == {usual: 1.0, slow: pytest.approx(14 / 12)}
    assert figure(direct, cluster, "duration_ratio", START + 95, START + 108) == {slow: 1.0}, (
        "the window alone"
    )


def test_failed_attempts_and_received_bytes_are_counted_by_worker(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    usual, slow = recorded.worker(USUAL, "w0"), recorded.worker(SLOW, "w1")
    compute(cluster, fetch(USUAL, 0), fetch(USUAL, 9), span(SLOW, 0, 20))
    receive(cluster, (USUAL, 0, 5), (USUAL, 9, 7))
    for at in (1, 2):
        recorded.error(at, f"inc-{at}", workers=[SLOW])
    recorded.error(3, "inc-3")
    assert figure(direct, cluster, "errors") == {slow: 2}
    assert figure(direct, cluster, "received") == {usual: 12}


def test_what_spans_alone_tell_of_has_no_size(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    slow = recorded.worker(SLOW, "w1")
    recorded.worker(USUAL, "w0")
    compute(cluster, fetch(USUAL, 0), fetch(USUAL, 20))
    assert figure(direct, cluster, "received") == {}
    receive(cluster, (USUAL, 20, 7), (SLOW, 21, 8))
    assert figure(direct, cluster, "received") == {slow: 8}, "a part isn't all that the other one received"


def test_a_worker_is_paused_from_the_change_to_the_next_one_or_to_its_end(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    statuses = ((-5.0, "paused"), (10.0, "running"), (20.0, "paused"))
    usual = recorded.worker(
        USUAL, "w0", died=26, events=[(at, "worker-status", {"status": status}) for at, status in statuses]
    )
    compute(cluster, span(USUAL, -50, 40))
    assert figure(direct, cluster, "paused") == {usual: 15 + 6}
    assert figure(direct, cluster, "paused", START, START + 22) == {usual: 10 + 2}


def test_the_growth_of_a_process_is_in_bytes_a_second_and_one_that_shrinks_is_not_named(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    grows = recorded.worker(USUAL, "w0", memory={float(at): 1 + at / 100 for at in range(0, 90, 2)})
    recorded.worker(SLOW, "w1", memory={float(at): 3 - at / 100 for at in range(0, 90, 2)})
    assert figure(direct, cluster, "memory_slope") == {grows: pytest.approx(GIB / 100, rel=0.01)}


def test_of_many_workers_the_ten_with_the_greatest_value_are_named(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    workers = {f"tcp://10.0.0.1:{1000 + number}": number for number in range(1, 300)}
    compute(cluster, *(fetch(worker, 0) for worker in workers))
    receive(cluster, *((worker, 0, number) for worker, number in workers.items()))
    assert sorted(figure(direct, cluster, "received").values()) == list(range(300 - MOST_OUTLIERS, 300))


def test_a_run_has_its_own_time_alone(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    worker = recorded.worker(USUAL, "w0")
    for at in (1, 2, 30):
        recorded.error(at, f"inc-{at}", workers=[USUAL])
    compute(cluster, span(USUAL, 0, 40))
    scope = Scope(cluster, round(START * 1e6), round((START + 10) * 1e6))
    [found] = outliers_of(direct, scope, 0, MAXIMUM_TIME - 1)["workers"]
    assert (found["worker"], found["errors"]) == (worker, 2)


def everything(direct: psycopg.Connection, cluster: Cluster) -> dict[str, Any]:
    found = outliers_of(direct, Scope(cluster), 0, MAXIMUM_TIME - 1)
    assert_documented(Outliers, found)
    return found


@pytest.fixture(params=["of few spans", "of many spans"])
def many(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether tiles are read, as of a window of many spans."""
    if request.param == "of many spans":
        monkeypatch.setattr(outliers, "FEW_SPANS", 0)
    return request.param == "of many spans"


def test_a_host_has_the_figures_of_its_workers_together(
    cluster: Cluster, direct: psycopg.Connection, many: bool
) -> None:
    workers = {f"tcp://10.0.0.{number}:4000": f"host-{number // 2}" for number in range(6)}
    seen = [WorkerSeen(address, "", host, 1, 0, START - 50) for address, host in workers.items()]
    spans = [
        span(address, at, at + (3 if host == "host-2" else 1))
        for address, host in workers.items()
        for at in range(0, 40, 4)
    ]
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, seen, spans))
    receive(cluster, *((address, 50, 100) for address in list(workers)[:3]))
    hosts = {row["host"]: row for row in everything(direct, cluster)["hosts"]}
    assert hosts.keys() == {"host-0", "host-1", "host-2"}
    assert hosts["host-2"]["duration_ratio"] == pytest.approx(3.0, rel=0.01)
    assert hosts["host-0"]["duration_ratio"] == pytest.approx(1.0, rel=0.01)
    assert [hosts[f"host-{number}"]["received"] for number in range(3)] == [200, 100, None]
    assert {row["workers"] for row in hosts.values()} == {2}


def test_workers_on_one_host_have_no_hosts_to_compare(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    recorded.worker(USUAL, "w0"), recorded.worker(SLOW, "w1")
    compute(cluster, span(USUAL, 0, 1), span(SLOW, 0, 1))
    found = everything(direct, cluster)
    assert (len(found["workers"]), found["hosts"]) == (2, [])


def test_stragglers_are_listed_those_that_took_longest_beyond_the_median_first(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection, many: bool
) -> None:
    usual, slow = recorded.worker(USUAL, "w0"), recorded.worker(SLOW, "w1")
    spans = [span(USUAL, at, at + 1) for at in range(0, 40, 2)]
    spans += [span(USUAL, at, at + 0.02, "tiny") for at in range(41, 61, 2)]
    spans += [span(SLOW, 0, 5), span(SLOW, 10, 19), span(SLOW, 30, 31.5), span(SLOW, 60, 99, "rare")]
    spans += [span(SLOW, 50, 52, "tiny"), span(SLOW, 55, 55.9, "tiny")]
    compute(cluster, *spans)
    tasks = everything(direct, cluster)["tasks"]
    assert [(task["key"], task["worker"]) for task in tasks] == [
        (f"inc-{SLOW[-4:]}-10", slow),
        (f"inc-{SLOW[-4:]}-0", slow),
        (f"tiny-{SLOW[-4:]}-50", slow),
    ], "rare has one task, so nothing is usual for it; 1.5 and 0.9 s are less than a second more"
    ratios = [9, 5, 100]
    assert [task["ratio"] for task in tasks] == [pytest.approx(ratio, rel=0.05) for ratio in ratios]
    assert tasks[0]["start"] == START + 10
    assert usual not in {task["worker"] for task in tasks}


def test_a_task_below_the_fence_of_its_prefix_is_no_straggler(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    recorded.worker(USUAL, "w0")
    lengths = (1, 2, 3, 4, 5, 6, 7, 8, 9, 90, 99)  # quartiles 3 and 8: up to 93 s
    compute(cluster, *(span(USUAL, at * 100, at * 100 + seconds) for at, seconds in enumerate(lengths)))
    assert [task["stop"] - task["start"] for task in everything(direct, cluster)["tasks"]] == [99]


def test_where_many_partitions_are_empty_the_quartiles_count_as_a_factor_of_four(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection
) -> None:
    recorded.worker(USUAL, "w0")
    lengths = (0.001, 0.001, 0.002, 1, 1, 1, 1, 1, 1, 1, 31, 33)  # up to 1 × 4^2.5 s
    compute(cluster, *(span(USUAL, at * 100, at * 100 + seconds) for at, seconds in enumerate(lengths)))
    assert [task["stop"] - task["start"] for task in everything(direct, cluster)["tasks"]] == [33]


def test_of_many_spans_workers_are_compared_by_tiles(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outliers, "FEW_SPANS", 0)
    usual, slow = recorded.worker(USUAL, "w0"), recorded.worker(SLOW, "w1")
    spans = [span(USUAL, number * 10, number * 10 + 1) for number in range(5)]
    spans += [span(SLOW, 100, 103), span(SLOW, 110, 111), span(SLOW, 120, 130, "load")]
    compute(cluster, *spans, fetch(SLOW, 140))
    receive(cluster, (SLOW, 140, 9))
    found = {row["worker"]: row for row in everything(direct, cluster)["workers"]}
    assert found[usual]["duration_ratio"] == pytest.approx(1.0, rel=0.01)
    assert found[slow]["duration_ratio"] == pytest.approx(14 / 12, rel=0.01)
    assert (found[slow]["received"], found[usual]["received"]) == (9, None)


def test_a_large_window_costs_no_pass_over_its_spans(
    recorded: Recorded, cluster: Cluster, direct: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outliers, "FEW_SPANS", 0)
    for name in ("computing", "stragglers"):
        monkeypatch.delattr(store, name)
    recorded.worker(USUAL, "w0")
    compute(cluster, *[span(USUAL, number * 10, number * 10 + 1) for number in range(5)])
    assert len(everything(direct, cluster)["workers"]) == 1


def test_a_link_that_hides_addresses_hides_hosts(cluster: Cluster, direct: psycopg.Connection) -> None:
    seen = [WorkerSeen(f"tcp://10.0.0.{n}:1", "", f"secret-{n}", 1, 0, START - 50) for n in (1, 2)]
    spans = [span(f"tcp://10.0.0.{n}:1", 0, 2 * n) for n in (1, 2)]
    with Writer() as writer:
        writer.write(Batch.of(cluster.pk, seen, spans))
    scope = Scope(cluster, pseudonyms=read_pseudonyms(cluster))
    assert {row["host"] for row in outliers_of(direct, scope, 0, MAXIMUM_TIME - 1)["hosts"]} == {
        "host 0",
        "host 1",
    }
