"""Who sent what to whom in a window."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.replay.pseudonyms import read_pseudonyms
from observatory.replay.scope import Scope
from observatory.replay.windows import sums as window_sums
from observatory.replay.windows.transfer_schemas import Transfers
from observatory.replay.windows.transfers import MOST_PLACES, transfers_of
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.times import MAXIMUM_TIME
from observatory.wire.records import Action, Event, Span, WorkerSeen
from tests.support.response_schemas import assert_documented

A, B = "tcp://10.1.2.3:4000", "tcp://10.1.2.4:4000"
HOSTILE = "<img src=x onerror=alert(1)>"


def transfer(start: float, sender: str, receiver: str, nbytes: float, **keys: int) -> tuple[Any, ...]:
    return (start, start + 0.5, receiver, sender, 0, nbytes, 0.0, keys, len(keys))


def fetch(key: str, worker: str, start: float) -> Span:
    return Span(worker, 1, key, "sum", "sum", Action.TRANSFER, start, start + 0.5, 8, "int")


@pytest.fixture
def moved(cluster: Cluster, writer: Writer, now: float) -> Cluster:
    seen = [WorkerSeen(worker, "", worker[6:-5], 1, 0, now) for worker in (A, B)]
    spans = [fetch(HOSTILE, B, now + 1)]
    sizes = {f"{A}-x": 7, "y": 3}
    rows = {
        "transfer": [
            transfer(now + 1, A, B, 10**6, **sizes),
            transfer(now + 2, B, A, 5.0),
            transfer(now + 3, "tcp://10.9.9.9:1", A, 2.0),
            transfer(now + 60, A, B, 3.0),
        ],
        "steal": [
            (now + 1, "request", "sum-1", A, B, 3, 0.1, 9.0, 0.0),
            (now + 1.1, "confirm", "sum-1", A, B, -1, 0.0, 0.0, 0.0),
            (now + 1.2, "already-computing", "sum-2", A, B, -1, 0.0, 0.0, 0.0),
        ],
        "shuffle": [
            (now + 1, "shuffle-1", "comm", "total", 10.0),
            (now + 2, "shuffle-1", "comm", "total", 30.0),
            (now + 2, "shuffle-1", "comm", "written", 20.0),
            (now + 90, "shuffle-1", "comm", "written", 30.0),
        ],
    }
    writer.write(Batch.of(cluster.pk, seen, spans, committed=now + 100, rows=rows))
    return cluster


def window(now: float) -> tuple[int, int]:
    return round(now * 1e6), round((now + 50) * 1e6)


def ids(direct: psycopg.Connection, cluster: Cluster) -> dict[str, int]:
    rows = direct.execute("SELECT address, id FROM worker WHERE cluster_id = %s", [cluster.pk])
    return dict(rows.fetchall())


def test_the_matrix_says_who_sent_how_much_to_whom(
    moved: Cluster, direct: psycopg.Connection, now: float
) -> None:
    found = transfers_of(direct, Scope(moved), *window(now))
    assert_documented(Transfers, found)
    workers = ids(direct, moved)
    place = [one["worker"] or one["kind"] for one in found["places"]]
    cells = {
        (place[cell["sender"]], place[cell["receiver"]]): (cell["count"], cell["nbytes"], cell["seconds"])
        for cell in found["cells"]
    }
    assert cells == {
        (workers[A], workers[B]): (1, 10**6, pytest.approx(0.5)),
        (workers[B], workers[A]): (1, 5, pytest.approx(0.5)),
        ("unknown", workers[A]): (1, 2, pytest.approx(0.5)),
    }
    assert found["total"] == {"count": 3, "nbytes": 10**6 + 7, "seconds": pytest.approx(1.5), "unsized": 0}
    assert found["unknown_senders"] == 1


def test_the_largest_transfer_has_its_keys_and_the_task_that_waited_for_it(
    moved: Cluster, direct: psycopg.Connection, now: float
) -> None:
    largest, *others = transfers_of(direct, Scope(moved), *window(now))["largest"]
    workers = ids(direct, moved)
    assert (largest["sender"], largest["receiver"], largest["nbytes"]) == (workers[A], workers[B], 10**6)
    assert largest["waiting"] == HOSTILE
    [[prefix]] = direct.execute("SELECT id FROM prefix WHERE cluster_id = %s AND name = 'sum'", [moved.pk])
    assert largest["prefix"] == prefix
    assert {one["key"]: one["nbytes"] for one in largest["keys"]} == {f"{A}-x": 7, "y": 3}
    assert [one["waiting"] for one in others] == [None, None]


def test_stealing_is_counted_by_outcome_and_a_shuffle_has_its_newest_amounts_of_the_window(
    moved: Cluster, direct: psycopg.Connection, now: float
) -> None:
    found = transfers_of(direct, Scope(moved), *window(now))
    assert found["outcomes"] == {"confirm": 1, "already-computing": 1}
    assert {one["outcome"] for one in found["steals"]} == {"confirm", "already-computing"}
    workers = ids(direct, moved)
    assert {(one["victim"], one["thief"]) for one in found["steals"]} == {(workers[A], workers[B])}
    [shuffle] = found["shuffles"]
    assert {one["what"]: one["nbytes"] for one in shuffle["amounts"]} == {"total": 30, "written": 20}
    assert {one["what"]: one["progress"] for one in shuffle["amounts"]} == {
        "total": [[now + 1, 10], [now + 2, 30]],
        "written": [[now + 2, 20]],
    }
    assert (shuffle["first"], shuffle["last"]) == (now + 1, now + 2)


def test_a_shuffle_that_no_heartbeat_told_of_has_what_workers_sent_each_other(
    cluster: Cluster, direct: psycopg.Connection, writer: Writer, now: float
) -> None:
    def sent(start: float, shuffle: str, nbytes: float) -> tuple[Any, ...]:
        return (now + start, now + start + 0.5, A, B, 2, nbytes, 0.0, {shuffle: nbytes}, 3)

    rows = {
        "transfer": [
            sent(1, "short", 100.0),
            sent(1.2, "short", 20.0),
            sent(5, "long", 7.0),
            (now + 6, now + 7, A, B, 2, 9.0, 0.0, ["no object"], 1),
            (now + 6, now + 7, A, B, 0, 1000.0, 0.0, {"inc-1": 1000}, 1),
        ],
        "shuffle": [(now + 6, "long", "comm", "read", 10.0)],
    }
    began = {"state": "began", "shuffle": "short", "name": "shuffle of x by y"}
    events = [Event(now + 1, "shuffle", "", began)]
    writer.write(Batch.of(cluster.pk, events=events, committed=now + 100, rows=rows))
    found = transfers_of(direct, Scope(cluster), 0, MAXIMUM_TIME)
    assert_documented(Transfers, found)
    amounts = {
        shuffle["shuffle"]: {one["what"]: one["nbytes"] for one in shuffle["amounts"]}
        for shuffle in found["shuffles"]
    }
    assert amounts == {"short": {"exchanged": 120}, "long": {"exchanged": 7, "read": 10}}
    short = found["shuffles"][0]
    assert short["name"] == "shuffle of x by y"
    assert (short["first"], short["last"]) == pytest.approx((now + 1, now + 1.7), abs=1e-5)
    assert [total for _, total in short["amounts"][0]["progress"]] == [100, 120]
    assert found["shuffles"][1]["first"] == pytest.approx(now + 5, abs=1e-5)


def test_of_a_long_shuffle_few_samples_are_sent_the_last_among_them(
    cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    rows = [(now + step / 10, "shuffle-1", "comm", "read", float(step)) for step in range(1000)]
    writer.write(Batch.of(cluster.pk, committed=now + 100, rows={"shuffle": rows}))
    [shuffle] = transfers_of(direct, Scope(cluster), 0, MAXIMUM_TIME)["shuffles"]
    [amount] = shuffle["amounts"]
    assert len(amount["progress"]) <= 40
    assert amount["progress"][-1] == [pytest.approx(now + 99.9), 999]
    assert all(value == pytest.approx((time - now) * 10) for time, value in amount["progress"])


@pytest.mark.parametrize("few", [20_000, 0], ids=["of rows", "of tiles"])
def test_bytes_over_time_are_those_of_the_window_and_of_the_worker_that_was_asked_for(
    moved: Cluster, direct: psycopg.Connection, now: float, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window_sums, "FEW_SUMMED_ROWS", few)
    workers = ids(direct, moved)
    for after, before in ((now, now + 100), (now + 1.5, now + 60.2), (now + 3, now + 3.1)):
        times = round(after * 1e6), round(before * 1e6)
        found = transfers_of(direct, Scope(moved), *times, workers[B])
        over = found["over_time"]
        assert len(over["nbytes"]) <= window_sums.MOST_BINS + 1
        assert over["start"] <= found["start"] < over["start"] + over["width"]
        for name in ("count", "nbytes"):
            assert sum(over[name]) == found["total"][name], (name, after)
        cells = [(found["places"][cell["sender"]], found["places"][cell["receiver"]], cell["nbytes"])
                 for cell in found["cells"]]  # fmt: skip
        of_b = [sum(n for *pair, n in cells if pair[side]["worker"] == workers[B]) for side in (0, 1)]
        assert [sum(over["sent"]), sum(over["received"])] == of_b
        for at, nbytes in ((now + 1, 10**6), (now + 60, 3)):
            if after <= at < before:
                assert over["nbytes"][int((at - over["start"]) / over["width"])] >= nbytes
    assert transfers_of(direct, Scope(moved), *times)["over_time"]["sent"] is None


def test_of_a_stock_cluster_transfers_are_counted_and_their_bytes_are_unknown(
    cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    writer.write(Batch.of(cluster.pk, spans=[fetch("sum-1", B, now + 1)], committed=now + 100))
    found = transfers_of(direct, Scope(cluster), *window(now))
    assert found["total"] == {"count": 1, "nbytes": 0, "seconds": pytest.approx(0.5), "unsized": 1}
    assert found["unknown_senders"] == 1
    assert found["largest"] == found["shuffles"] == found["steals"] == []


def test_a_public_link_shows_no_addresses(moved: Cluster, direct: psycopg.Connection, now: float) -> None:
    pseudonyms = read_pseudonyms(moved)
    scope = Scope(moved, *window(now), is_public=True, pseudonyms=pseudonyms)
    found = transfers_of(direct, scope, 0, MAXIMUM_TIME)
    assert found["total"]["count"] == 3, "nothing from outside of the window"
    assert "10.1.2." not in str(found)


def test_many_workers_are_rows_by_host_and_the_smallest_are_one_row(
    cluster: Cluster, writer: Writer, direct: psycopg.Connection, now: float
) -> None:
    workers = [(f"tcp://h{number // 2}:{number}", f"h{number // 2}") for number in range(160)]
    seen = [WorkerSeen(address, "", host, 1, 0, now) for address, host in workers]
    rows = [
        transfer(now + 1, address, workers[0][0], 10.0 * (number + 1))
        for number, (address, _) in enumerate(workers)
    ]
    writer.write(Batch.of(cluster.pk, seen, committed=now + 100, rows={"transfer": rows}))
    found = transfers_of(direct, Scope(cluster), *window(now))
    kinds = [one["kind"] for one in found["places"]]
    assert kinds == ["host"] * MOST_PLACES + ["others"]
    assert "h79" in {one["host"] for one in found["places"]}
    assert sum(cell["nbytes"] for cell in found["cells"]) == sum(row[5] for row in rows)


def test_of_an_empty_cluster_there_are_none(cluster: Cluster, direct: psycopg.Connection) -> None:
    found = transfers_of(direct, Scope(cluster), 0, MAXIMUM_TIME)
    assert_documented(Transfers, found)
    assert found["places"] == found["cells"] == found["largest"] == []
