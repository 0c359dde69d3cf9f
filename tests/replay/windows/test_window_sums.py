"""The sums of a window are those of its rows, whatever tiles they come from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.replay.scope import Scope
from observatory.replay.tasks import build_cluster
from observatory.replay.tiles import builder
from observatory.replay.tiles.layers import LAYER_NAMES, Layer, layers_for
from observatory.replay.tiles.sums import limit_rows, merge_sums
from observatory.replay.windows import greatest
from observatory.replay.windows import sums as window_sums
from observatory.replay.windows.sums import Sums, binned_sums, sums
from observatory.replay.windows.transfers import MOST_TRANSFERS, transfers_of
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.sums.declared import SUM_LAYERS
from observatory.store.queries.sums.log_sums import LOG_SUMS
from observatory.store.queries.sums.prefix_sums import PREFIX_SUMS
from observatory.store.queries.sums.steal_sums import OUTCOMES, STEAL_SUMS
from observatory.store.queries.sums.sum_layer import REST, UNKNOWN
from observatory.store.queries.sums.transfer_sums import TRANSFER_SUMS
from observatory.wire.records import Action, Span, Status, WorkerSeen
from tests.replay.committed import direct
from tests.replay.conftest import CLOSED, make_cluster

__all__ = ["direct"]

WORKERS = [f"tcp://10.0.0.{number}:1" for number in range(1, 6)]
SECONDS = 400
SPANS, TRANSFERS, LINES, STEALS = 3_000, 2_000, 1_500, 1_000
INCOMING, OUTGOING = 0, 1
LOGGED = 150.0
"""seconds after which the agent logs transfers"""


@pytest.fixture(scope="module")
def cluster(committed: None, now: float) -> Cluster:
    return make_cluster(now, "Scheduler-sums")


@pytest.fixture(scope="module")
def spans(cluster: Cluster, direct: psycopg.Connection, now: float) -> list[Span]:
    """Spans of no time to minutes; transfers of each pair of workers, the later ones logged."""
    random = Random(3)
    made = []
    for number in range(SPANS):
        start = round(now + random.uniform(0, SECONDS - 60), 6)
        length = random.choice((0.0, 1e-6, min(200.0, random.lognormvariate(-2, 3))))
        prefix = random.choice(("inc", "sum", "load"))
        action = random.choice((Action.COMPUTE, Action.COMPUTE, Action.TRANSFER))
        status = random.choice((Status.OK, Status.OK, Status.ERROR))
        worker, key = random.choice(WORKERS), f"{prefix}-{number}"
        stop = round(start + length, 6)
        nbytes = random.randrange(10**6)
        made.append(Span(worker, 1, key, prefix, prefix, action, start, stop, nbytes, "int", status))
    seen = [WorkerSeen(worker, "", "h", 2, 1000, now) for worker in WORKERS]
    with Writer() as writer:
        failed = [
            (now + at, f"inc-{at}", "", "erred", "ValueError", "no", "", 0, [], 0) for at in range(SECONDS)
        ]
        rows = {
            "transfer": transfers(now),
            "error": failed,
            "log": lines(now),
            "transition": transitions(now),
            "steal": steals(now),
        }
        writer.write(Batch.of(cluster.pk, seen, made, committed=now + SECONDS, rows=rows))
        writer.write(Batch.of(cluster.pk, committed=now + CLOSED))
    build_cluster(direct, cluster)
    return made


def lines(now: float) -> list[tuple[Any, ...]]:
    """Rows of kind `log`, of the scheduler and the workers."""
    random = Random(7)
    rows: list[tuple[Any, ...]] = []
    for number in range(LINES):
        role, worker = random.choice([("scheduler", ""), *(("worker", one) for one in WORKERS)])
        level = random.choice((10, 20, 20, 30, 40))
        at = round(now + random.uniform(0, SECONDS), 6)
        rows.append((at, role, worker, level, "distributed", f"line {number}", "", 1))
    return rows


def transitions(now: float) -> list[tuple[Any, ...]]:
    """Rows of kind `transition`: each task waits for a while."""
    random = Random(11)
    rows: list[tuple[Any, ...]] = []
    for number in range(SPANS // 2):
        start = round(now + random.uniform(0, SECONDS - 60), 6)
        stop = round(start + random.uniform(0, 60), 6)
        rows.append((start, f"inc-{number}", "released", "waiting", "", "update-graph-1"))
        rows.append((stop, f"inc-{number}", "waiting", "processing", "", "task-finished-1"))
    return sorted(rows)


def steals(now: float) -> list[tuple[Any, ...]]:
    """Rows of kind `steal`: requests and their outcomes, one of which another version of Dask has."""
    random = Random(13)
    rows: list[tuple[Any, ...]] = []
    for number in range(STEALS):
        victim, thief = random.sample([*WORKERS, "tcp://10.9.9.9:9"], 2)
        outcome = random.choice(("request", "confirm", "already-computing", "refused-politely"))
        at = round(now + random.uniform(0, SECONDS), 6)
        rows.append((at, outcome, f"inc-{number}", victim, thief, 3, 0.1, 1.0, 0.0))
    return rows


def transfers(now: float) -> list[tuple[Any, ...]]:
    """Rows of kind `transfer`, as both sides log them; some senders are no workers."""
    random = Random(5)
    rows: list[tuple[Any, ...]] = []
    for number in range(TRANSFERS):
        start = now + LOGGED + number / TRANSFERS * (SECONDS - LOGGED)
        stop = start + random.expovariate(10)
        receiver, sender = random.choice(WORKERS), random.choice([*WORKERS, "tcp://10.9.9.9:9"])
        size = float(random.randrange(10**6))
        rows.append((round(start, 6), round(stop, 6), receiver, sender, INCOMING, size, 0.0, {}, 1))
        if sender in WORKERS:
            rows.append((round(start, 6), round(stop, 6), sender, receiver, OUTGOING, size, 0.0, {}, 1))
    return rows


@pytest.fixture(params=[0, window_sums.FEW_SUMMED_ROWS], ids=["of tiles", "of rows"])
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_sums, "FEW_SUMMED_ROWS", request.param)


def windows(now: float) -> Iterator[tuple[int, int]]:
    """The whole recording, and windows of all sizes anywhere in it."""
    random = Random(11)
    yield round((now - 1000) * 1e6), round((now + 2 * SECONDS) * 1e6)
    for length in (1, 1_000, 10**6, 3 * 10**6, 7 * 10**6, 20 * 10**6, 60 * 10**6, 150 * 10**6, 350 * 10**6):
        for _ in range(2):
            start = round(now * 1e6) + random.randrange((SECONDS - 60) * 10**6)
            yield start, start + length


def names(direct: psycopg.Connection, cluster: Cluster, table: str, column: str) -> dict[int, str]:
    query = f"SELECT id, {column} FROM {table} WHERE cluster_id = %s"
    return dict(direct.execute(query, [cluster.pk]).fetchall())  # type: ignore[arg-type]


def rows_of(found: Sums, *columns: str) -> list[tuple[Any, ...]]:
    return list(zip(*(found.columns[name].tolist() for name in columns), strict=True))


@pytest.mark.usefixtures("_way")
def test_a_windows_spans_by_prefix_action_and_duration(
    spans: list[Span], cluster: Cluster, direct: psycopg.Connection, now: float
) -> None:
    prefixes = names(direct, cluster, "prefix", "name")
    for start, stop in windows(now):
        found = sums(direct, Scope(cluster), PREFIX_SUMS, start, stop)
        made: dict[tuple[str, int], list[float]] = {}
        for prefix, action, count, seconds, nbytes, erred, longest, shortest in rows_of(
            found, "prefix", "action", "count", "seconds", "nbytes", "erred", "longest", "shortest"
        ):
            sum_of = made.setdefault((prefixes[prefix], action), [*[0.0] * 5, math.inf])
            for place, value in enumerate((count, seconds, nbytes, erred)):
                sum_of[place] += value
            sum_of[4] = max(sum_of[4], longest)
            sum_of[5] = min(sum_of[5], shortest)
        expected: dict[tuple[str, int], list[float]] = {}
        for span in spans:
            begin, end = round(span.start * 1e6), round(span.stop * 1e6)
            last = max(end - 1, begin)
            if begin >= stop or last < start:
                continue
            sum_of = expected.setdefault((span.prefix, int(span.action)), [*[0.0] * 5, math.inf])
            sum_of[1] += (min(end, stop) - max(begin, start)) / 1e6
            if start <= last < stop:
                sum_of[0] += 1
                sum_of[2] += span.nbytes
                sum_of[3] += span.status == Status.ERROR
                sum_of[4] = max(sum_of[4], (end - begin) / 1e6)
                sum_of[5] = min(sum_of[5], (end - begin) / 1e6)
        assert found.is_complete
        assert made.keys() == expected.keys()
        for key, values in expected.items():
            assert made[key] == pytest.approx(values, abs=1e-6), (key, start, stop)


@pytest.mark.usefixtures("_way")
def test_a_windows_transfers_by_sender_and_receiver(
    spans: list[Span], cluster: Cluster, direct: psycopg.Connection, now: float
) -> None:
    workers = {UNKNOWN: "", **names(direct, cluster, "worker", "address")}
    rows = [
        (begin, end, sender if sender in WORKERS else "", receiver, nbytes)
        for begin, end, receiver, sender, direction, nbytes, *_ in transfers(now)
        if direction == INCOMING
    ]
    first = min(begin for begin, *_ in rows)
    unlogged = [span for span in spans if span.action == Action.TRANSFER and span.start < first]
    assert unlogged
    rows += [(span.start, span.stop, "", span.worker, 0.0) for span in unlogged]
    for start, stop in windows(now):
        expected: Counter[tuple[str, str, str]] = Counter()
        for begin, end, sender, receiver, nbytes in rows:
            if start <= round(begin * 1e6) < stop:
                expected[sender, receiver, "count"] += 1
                expected[sender, receiver, "nbytes"] += nbytes
                expected[sender, receiver, "seconds"] += end - begin
        found = sums(direct, Scope(cluster), TRANSFER_SUMS, start, stop)
        made = {
            (workers[sender], workers[receiver], name): value
            for sender, receiver, *values in rows_of(
                found, "sender", "receiver", "count", "nbytes", "seconds"
            )
            for name, value in zip(("count", "nbytes", "seconds"), values, strict=True)
        }
        assert {key: value for key, value in made.items() if value} == pytest.approx(
            {key: value for key, value in expected.items() if value}, abs=1e-5
        )


@pytest.mark.usefixtures("_way")
def test_steals_are_those_of_the_window_by_victim_thief_and_outcome(
    spans: list[Span], cluster: Cluster, direct: psycopg.Connection, now: float
) -> None:
    workers = {UNKNOWN: "", **names(direct, cluster, "worker", "address")}
    for start, stop in windows(now):
        expected = Counter(
            (
                victim if victim in WORKERS else "",
                thief if thief in WORKERS else "",
                outcome if outcome in OUTCOMES else "other",
            )
            for time, outcome, _, victim, thief, *_ in steals(now)
            if start <= round(time * 1e6) < stop and outcome != "request"
        )
        found = sums(direct, Scope(cluster), STEAL_SUMS, start, stop)
        made = {
            (workers[victim], workers[thief], OUTCOMES[outcome]): count
            for victim, thief, outcome, count in rows_of(found, "victim", "thief", "outcome", "count")
        }
        assert made == expected


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize(
    "few", [greatest.FEW_ROWS, 100, 0], ids=["of rows", "of bins", "of the smallest bins"]
)
def test_the_largest_transfers_are_those_of_the_rows(
    few: int,
    spans: list[Span],
    cluster: Cluster,
    direct: psycopg.Connection,
    now: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(greatest, "FEW_ROWS", few)
    logged = [
        (start, size) for start, _, _, _, direction, size, *_ in transfers(now) if direction == INCOMING
    ]
    for start, stop in windows(now):
        sizes = sorted((size for at, size in logged if start <= round(at * 1e6) < stop), reverse=True)
        found = transfers_of(direct, Scope(cluster), start, stop)["largest"]
        assert [one["nbytes"] for one in found] == sizes[:MOST_TRANSFERS]
        assert all(start <= round(one["start"] * 1e6) < stop for one in found)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("layer", SUM_LAYERS.values(), ids=SUM_LAYERS)
def test_a_run_has_the_sums_of_its_own_window(
    layer: Any, spans: list[Span], cluster: Cluster, direct: psycopg.Connection, now: float
) -> None:
    start, stop = round((now + 37.123_456) * 1e6), round((now + 301.654_321) * 1e6)
    whole = sums(direct, Scope(cluster), layer, start, stop)
    run = sums(direct, Scope(cluster, start, stop), layer, 0, 2 * stop)
    assert (run.start, run.stop) == (start, stop) == (whole.start, whole.stop)
    assert len(run.columns["count"])
    for name, column in whole.columns.items():
        assert run.columns[name] == pytest.approx(column)


@pytest.mark.usefixtures("_way")
def test_the_sums_of_bins_are_those_of_the_rows_in_them(
    spans: list[Span], cluster: Cluster, direct: psycopg.Connection, now: float
) -> None:
    workers = {UNKNOWN: "", **names(direct, cluster, "worker", "address")}
    for start, stop in windows(now):
        found = binned_sums(direct, Scope(cluster), LOG_SUMS, start, stop)
        expected = Counter(
            (level, worker, (round(time * 1e6) - found.first) // found.width)
            for time, _, worker, level, *_ in lines(now)
            if start <= round(time * 1e6) < stop
        )
        made = {
            (level, workers[worker], place): count
            for level, worker, place, count in rows_of(found, "level", "worker", "bin", "count")
        }
        assert made == expected
        assert all(0 <= place < found.bins for _, _, place in made)


def test_a_window_of_many_rows_is_read_from_few_tiles_and_the_rows_at_its_edges(
    spans: list[Span],
    cluster: Cluster,
    direct: psycopg.Connection,
    now: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(window_sums, "FEW_SUMMED_ROWS", 0)
    widths, tiles = [], []
    of_rows, get_tile = window_sums._of_rows, window_sums.get_tile
    monkeypatch.setattr(window_sums, "_of_rows", lambda *a: widths.append(a[4] - a[3]) or of_rows(*a))
    monkeypatch.setattr(window_sums, "get_tile", lambda *a: tiles.append(a[3]) or get_tile(*a))
    sums(direct, Scope(cluster), PREFIX_SUMS, round((now + 11.1) * 1e6), round((now + SECONDS - 77.7) * 1e6))
    assert len(tiles) <= builder.MAXIMUM_TOP_TILES + 2
    assert len(widths) <= 2
    assert max(widths) < 2**builder.BASE_LEVEL * 64


def test_a_late_transfer_changes_the_sums(committed: None, direct: psycopg.Connection, now: float) -> None:
    late = make_cluster(now, "Scheduler-late-transfer")
    seen = [WorkerSeen(worker, "", "h", 2, 1000, now) for worker in WORKERS]
    scope, window = Scope(late), (round(now * 1e6), round((now + SECONDS) * 1e6))
    with Writer() as writer:
        rows = transfers(now)
        delayed = rows.pop(
            next(place for place in range(TRANSFERS, 2 * TRANSFERS) if rows[place][4] == INCOMING)
        )
        writer.write(Batch.of(late.pk, seen, committed=now + CLOSED, rows={"transfer": rows}))
        build_cluster(direct, late)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(window_sums, "FEW_SUMMED_ROWS", 0)
            before = sums(direct, scope, TRANSFER_SUMS, *window)
            writer.write(Batch.of(late.pk, rows={"transfer": [delayed]}))
            after = sums(direct, scope, TRANSFER_SUMS, *window)
    assert before.columns["count"].sum() == TRANSFERS - 1
    assert after.columns["count"].sum() == TRANSFERS


def test_over_the_bound_of_rows_the_smallest_become_one(now: float) -> None:
    keys = np.arange(1, 201)
    pairs = [(sender, receiver) for sender in keys for receiver in keys]
    sender, receiver = np.array(pairs).T
    nbytes = (sender * receiver).astype(float)
    one = np.ones(len(pairs))
    rows = {
        "sender": sender,
        "receiver": receiver,
        "bin": 0 * sender,
        "count": one,
        "nbytes": nbytes,
        "seconds": one,
        "unsized": 0 * one,
        "largest": nbytes,
    }
    found = limit_rows(TRANSFER_SUMS, rows)
    assert len(found["bin"]) <= TRANSFER_SUMS.most_rows
    assert found["nbytes"].sum() == nbytes.sum()
    named = {int(key) for key in found["sender"] if key != REST}
    assert named == set(range(101, 201)), "the largest"
    largest = (found["sender"] == 200) & (found["receiver"] == 199)
    assert found["nbytes"][largest].tolist() == [200 * 199]
    again = merge_sums(TRANSFER_SUMS, [found, found])
    assert again["count"].sum() == 2 * len(pairs)


@pytest.mark.parametrize("name", SUM_LAYERS)
def test_pages_cannot_ask_for_tiles_of_sums(name: str) -> None:
    assert name not in LAYER_NAMES
    assert Layer(name) not in layers_for(1)
    with pytest.raises(ValueError, match="layer is"):
        Layer.parse(name)


def test_of_an_empty_cluster_there_are_none(committed: None, direct: psycopg.Connection, now: float) -> None:
    empty = make_cluster(now, "Scheduler-empty-sums")
    found = sums(direct, Scope(empty), PREFIX_SUMS, 0, round(now * 1e6))
    assert found.is_complete
    assert not len(found.columns["count"])
