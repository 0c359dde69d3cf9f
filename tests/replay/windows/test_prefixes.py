"""What the tasks of each prefix and group did in a window is what its rows say."""

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
from observatory.replay.pseudonyms import read_pseudonyms
from observatory.replay.scope import Scope
from observatory.replay.tasks import build_cluster
from observatory.replay.windows import greatest, prefixes
from observatory.replay.windows import sums as window_sums
from observatory.replay.windows.prefix_schemas import Groups, PrefixDetail, Prefixes
from observatory.replay.windows.prefixes import groups_of, prefix_details, prefixes_of
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.windows.prefixes import prefix_names
from observatory.store.times import MAXIMUM_TIME
from observatory.wire.records import Action, Span, Status, WorkerSeen
from tests.replay.committed import direct
from tests.replay.conftest import CLOSED, make_cluster
from tests.support.response_schemas import assert_documented

__all__ = ["direct"]

WORKERS = [f"tcp://10.0.0.{number}:1" for number in range(1, 6)]
SECONDS = 400
SPANS, ERRORS = 3_000, 400
HOSTILE = f"<img src=x onerror=alert(1)>-{WORKERS[0]}"


@pytest.fixture(scope="module")
def cluster(committed: None, now: float) -> Cluster:
    return make_cluster(now, "Scheduler-prefixes")


@pytest.fixture(scope="module")
def spans(cluster: Cluster, direct: psycopg.Connection, now: float) -> list[Span]:
    """Spans of no time to minutes, of four prefixes in two groups each."""
    random = Random(7)
    made = []
    for number in range(SPANS):
        start = round(now + random.uniform(0, SECONDS - 60), 6)
        stop = round(start + random.choice((0.0, min(50.0, random.lognormvariate(-2, 2)))), 6)
        prefix = random.choice(("inc", "sum", "load", HOSTILE))
        group = f"{prefix}-{random.choice('ab')}"
        action = random.choice((Action.COMPUTE, *Action))
        worker = random.choice(WORKERS[: 2 if prefix == "load" else 5])
        nbytes = random.randrange(10**6)
        status = random.choice((Status.OK, Status.OK, Status.ERROR))
        key = f"{group}-{number}"
        made.append(Span(worker, 1, key, prefix, group, action, start, stop, nbytes, "int", status))
    seen = [WorkerSeen(worker, "", "h", 2, 1000, now) for worker in WORKERS]
    with Writer() as writer:
        rows = {"error": errors(now), "transfer": transfers(made)}
        writer.write(Batch.of(cluster.pk, seen, made, committed=now + SECONDS, rows=rows))
        writer.write(Batch.of(cluster.pk, committed=now + CLOSED))
    build_cluster(direct, cluster)
    return made


def errors(now: float) -> list[tuple[Any, ...]]:
    random = Random(9)
    return [
        (
            round(now + random.uniform(0, SECONDS - 60), 6),
            f"{random.choice(('inc', 'sum'))}-{number}",
            *(WORKERS[0], random.choice(("erred", "retried", "killed")), "ValueError", "no", "", 0, [], 0),
        )
        for number in range(ERRORS)
    ]


def transfers(spans: list[Span]) -> list[tuple[Any, ...]]:
    """Rows of kind `transfer`: one for each waiting task, as its receiver and as its sender logged it."""
    return [
        (span.start, span.stop, *ends, direction, size_of(span), 0.0, {}, 1)
        for span in spans
        if span.action is Action.TRANSFER
        for direction, ends in enumerate(((span.worker, WORKERS[0]), (WORKERS[0], span.worker)))
    ]


def size_of(span: Span) -> float:
    """Bytes that a waiting task fetched, which its span does not tell."""
    return span.nbytes * 3.0 + 1


@pytest.fixture(params=[0, window_sums.FEW_SUMMED_ROWS], ids=["of tiles", "of rows"])
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_sums, "FEW_SUMMED_ROWS", request.param)
    monkeypatch.setattr(greatest, "FEW_ROWS", request.param // 10)


def windows(now: float) -> Iterator[tuple[int, int]]:
    """The whole recording, and windows of all sizes anywhere in it."""
    random = Random(13)
    yield round((now - 1000) * 1e6), round((now + 2 * SECONDS) * 1e6)
    for length in (10**6, 7 * 10**6, 60 * 10**6, 200 * 10**6):
        start = round(now * 1e6) + random.randrange((SECONDS - 60) * 10**6)
        yield start, start + length


def ended(spans: list[Span], start: int, stop: int) -> list[Span]:
    """The spans that end in a window."""
    return [
        span for span in spans if start <= max(round(span.stop * 1e6) - 1, round(span.start * 1e6)) < stop
    ]


def overlap(span: Span, start: int, stop: int) -> float:
    return max(0, min(round(span.stop * 1e6), stop) - max(round(span.start * 1e6), start)) / 1e6


def check_durations(found: dict[str, Any], spans: list[Span], start: int, stop: int) -> None:
    """What was found of some computations is what these are."""
    inside = ended(spans, start, stop)
    durations = sorted(round(span.stop - span.start, 6) for span in inside)
    assert found["tasks"] == len(durations)
    assert found["seconds"] == pytest.approx(sum(overlap(span, start, stop) for span in spans), abs=1e-5)
    assert found["nbytes"] == sum(span.nbytes for span in inside)
    bins = Counter(math.floor(4 * math.log2(max(round(seconds * 1e6), 1)) + 1e-9) for seconds in durations)
    assert dict(found["histogram"]) == bins
    if not durations:
        assert found["shortest"] is found["median"] is found["p95"] is found["longest"] is None
        return
    assert found["shortest"] == pytest.approx(durations[0], abs=1.1e-6)
    assert found["longest"] == pytest.approx(durations[-1], abs=1.1e-6)
    off = 0.01 if window_sums.FEW_SUMMED_ROWS == 0 else 0.0
    for name, share in (("median", 0.5), ("p95", 0.95)):
        assert found[name] == pytest.approx(float(np.quantile(durations, share)), rel=off, abs=1.1e-6)


def prefix_detail(connection: psycopg.Connection, scope: Scope, prefix: int, start: int, stop: int) -> Any:
    [detail] = prefix_details(connection, scope, [prefix], start, stop)
    return detail


@pytest.mark.usefixtures("_way")
def test_the_figures_of_each_prefix_are_those_of_its_rows(
    spans: list[Span], cluster: Cluster, direct: psycopg.Connection, now: float
) -> None:
    for start, stop in windows(now):
        found = prefixes_of(direct, Scope(cluster), start, stop)
        assert_documented(Prefixes, found)
        rows = {row["name"]: row for row in found["prefixes"]}
        assert [row["seconds"] for row in found["prefixes"]] == sorted(
            (row["seconds"] for row in found["prefixes"]), reverse=True
        )
        for name in {span.prefix for span in spans if overlap(span, start, stop)}:
            row, of_prefix = rows[name], [span for span in spans if span.prefix == name]
            computed = [span for span in of_prefix if span.action is Action.COMPUTE]
            check_durations(row, computed, start, stop)
            seconds = Counter[Action]()
            for span in of_prefix:
                seconds[span.action] += overlap(span, start, stop)  # type: ignore[assignment]
            assert row["transfer"] == pytest.approx(seconds[Action.TRANSFER], abs=1e-5)
            assert row["disk"] == pytest.approx(
                seconds[Action.DISK_READ] + seconds[Action.DISK_WRITE], abs=1e-5
            )
            assert row["serialization"] == pytest.approx(
                seconds[Action.SERIALIZE] + seconds[Action.DESERIALIZE], abs=1e-5
            )
            begun = [span for span in of_prefix if start <= round(span.start * 1e6) < stop]
            waited = [span for span in begun if span.action is Action.TRANSFER]
            assert row["received"] == sum(size_of(span) for span in waited)
            failed = [
                outcome == "retried"
                for time, key, _, outcome, *_ in errors(now)
                if key.startswith(name) and start <= round(time * 1e6) < stop
            ]
            assert (row["retries"], row["errors"]) == (sum(failed), len(failed) - sum(failed))
            workers = {span.worker for span in computed if overlap(span, start, stop)}
            workers |= {span.worker for span in ended(computed, start, stop)}
            assert row["workers"] == len(workers)


@pytest.mark.usefixtures("_way")
def test_the_figures_of_each_group_are_those_of_its_rows(
    spans: list[Span], cluster: Cluster, direct: psycopg.Connection, now: float
) -> None:
    for start, stop in windows(now):
        found = groups_of(direct, Scope(cluster), start, stop)
        assert_documented(Groups, found)
        names = prefix_names(direct, cluster.pk)
        for row in found["groups"]:
            of_group = [span for span in spans if span.group == row["name"] and span.action is Action.COMPUTE]
            assert {span.prefix for span in of_group} == {names[row["prefix"]]}
            check_durations(row, of_group, start, stop)
            failed = [span for span in ended(of_group, start, stop) if span.status is Status.ERROR]
            assert row["erred"] == len(failed)
        assert found["others"] == 0


@pytest.mark.usefixtures("_way")
def test_a_prefix_in_detail_has_its_slowest_tasks_its_workers_and_its_groups(
    spans: list[Span], cluster: Cluster, direct: psycopg.Connection, now: float
) -> None:
    addresses = dict(
        direct.execute("SELECT id, address FROM worker WHERE cluster_id = %s", [cluster.pk]).fetchall()
    )
    ids = {name: id for id, name in prefix_names(direct, cluster.pk).items()}
    computed = [span for span in spans if span.prefix == "load" and span.action is Action.COMPUTE]
    for start, stop in windows(now):
        found = prefix_detail(direct, Scope(cluster), ids["load"], start, stop)
        assert_documented(PrefixDetail, found)
        inside = ended(computed, start, stop)
        longest = sorted(inside, key=lambda span: span.start - span.stop)[: prefixes.MOST_SLOWEST]
        assert [task["stop"] - task["start"] for task in found["slowest"]] == pytest.approx(
            [span.stop - span.start for span in longest], abs=2e-6
        )
        assert {task["key"] for task in found["slowest"] if task["stop"] - task["start"] > 1e-5} == {
            span.key for span in longest if span.stop - span.start > 1e-5
        }
        made = {addresses[one["worker"]]: one for one in found["workers"]}
        assert found["worker_count"] == len(made) <= 2
        for worker, one in made.items():
            own = [span for span in computed if span.worker == worker]
            assert one["tasks"] == len(ended(own, start, stop))
            assert one["seconds"] == pytest.approx(sum(overlap(each, start, stop) for each in own), abs=1e-5)
            longest = max((each.stop - each.start for each in ended(own, start, stop)), default=0.0)
            assert one["longest"] == pytest.approx(longest, abs=2e-6)
        assert {group["name"] for group in found["groups"]} <= {"load-a", "load-b"}
        assert found["group_count"] == len(found["groups"])


def test_many_prefixes_are_cut_to_those_that_took_longest(
    spans: list[Span], cluster: Cluster, direct: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = prefixes_of(direct, Scope(cluster), 0, MAXIMUM_TIME)
    monkeypatch.setattr(prefixes, "MOST_PREFIXES", 2)
    cut = prefixes_of(direct, Scope(cluster), 0, MAXIMUM_TIME)
    assert cut["prefixes"] == whole["prefixes"][:2]
    assert cut["others"] == len(whole["prefixes"]) - 2
    assert cut["others_seconds"] == pytest.approx(sum(row["seconds"] for row in whole["prefixes"][2:]))


def test_a_public_link_shows_no_addresses_and_nothing_from_outside_of_its_window(
    spans: list[Span], cluster: Cluster, direct: psycopg.Connection, now: float
) -> None:
    start, stop = round((now + 50) * 1e6), round((now + 90) * 1e6)
    scope = Scope(cluster, start, stop, is_public=True, pseudonyms=read_pseudonyms(cluster))
    [id] = [id for id, name in prefix_names(direct, cluster.pk).items() if name == HOSTILE]
    detail = prefix_detail(direct, scope, id, 0, MAXIMUM_TIME)
    shown = str(
        [prefixes_of(direct, scope, 0, MAXIMUM_TIME), groups_of(direct, scope, 0, MAXIMUM_TIME), detail]
    )
    assert "onerror" in shown
    assert "10.0.0." not in shown
    assert all(start / 1e6 <= task["start"] <= task["stop"] <= stop / 1e6 for task in detail["slowest"])


def test_of_an_empty_cluster_there_are_none(committed: None, direct: psycopg.Connection, now: float) -> None:
    scope = Scope(make_cluster(now, "Scheduler-no-prefixes"))
    assert prefixes_of(direct, scope, 0, MAXIMUM_TIME)["prefixes"] == []
    assert groups_of(direct, scope, 0, MAXIMUM_TIME)["groups"] == []
    detail = prefix_detail(direct, scope, 1, 0, MAXIMUM_TIME)
    assert_documented(PrefixDetail, detail)
    assert detail["slowest"] == detail["workers"] == detail["groups"] == []
