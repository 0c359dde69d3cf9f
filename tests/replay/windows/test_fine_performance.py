"""Dask's fine performance metrics of a window."""

from __future__ import annotations

import itertools
from typing import Any

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.replay.pseudonyms import read_pseudonyms
from observatory.replay.scope import Scope
from observatory.replay.windows.fine_performance import fine_performance_of
from observatory.replay.windows.fine_performance_schemas import FinePerformance
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.queries.windows import fine_performance as store
from observatory.wire.records import Action, MetricType, Sample, Series, Span, WorkerSeen
from tests.support.response_schemas import assert_documented

ADDRESS = "tcp://10.1.2.3:4000"
HOSTILE = f"<img src=x onerror=alert(1)> on {ADDRESS}"
PREFIX = "read_parquet"


def counter(prefix: str, activity: str, unit: str, context: str = "execute") -> Series:
    labels = {"activity": activity, "context": context, "prefix": prefix, "unit": unit}
    return Series(store.METRIC, tuple(labels.items()), "", MetricType.COUNTER)


def dask_span(time: float, names: list[str], activity: str, value: float) -> tuple[Any, ...]:
    return (time, "-".join(names), names, "execute", PREFIX, activity, "seconds", value)


@pytest.fixture
def measured(cluster: Cluster, writer: Writer, now: float) -> Cluster:
    computing, disk = counter(PREFIX, "thread-cpu", "seconds"), counter(PREFIX, "disk-read", "bytes")
    transfer = counter("", "network", "seconds", "gather-dep")
    samples = [
        *(Sample(computing, now + at, value) for at, value in ((1, 2.0), (10, 5.0), (30, 9.5), (80, 20.0))),
        Sample(disk, now + 2, 1000.0),
        Sample(transfer, now + 40, 0.25),
    ]
    spans = [Span(ADDRESS, 1, f"{PREFIX}-1", PREFIX, PREFIX, Action.COMPUTE, now, now + 90, 1, "int")]
    rows = {
        "fine_performance": [
            dask_span(now + 10, ["nightly", HOSTILE], "thread-cpu", 3.0),
            dask_span(now + 30, ["nightly", HOSTILE], "thread-cpu", 4.5),
            dask_span(now + 80, ["nightly"], "thread-cpu", 10.5),
        ]
    }
    seen = [WorkerSeen(ADDRESS, "", "10.1.2.3", 1, 0, now)]
    writer.write(Batch.of(cluster.pk, seen, spans, samples=samples, committed=now + 100, rows=rows))
    return cluster


def values(found: dict[str, Any]) -> dict[tuple[str, str, str], float]:
    rows = found["activities"]
    return {(row["name"] or row["context"], row["activity"], row["unit"]): row["value"] for row in rows}


def micro(*times: float) -> tuple[int, ...]:
    return tuple(round(time * 1e6) for time in times)


def test_a_window_has_what_was_added_in_it_the_largest_first(
    measured: Cluster, direct: psycopg.Connection, now: float
) -> None:
    found = fine_performance_of(direct, Scope(measured), *micro(now + 5, now + 50))
    assert_documented(FinePerformance, found)
    assert values(found) == {
        (PREFIX, "thread-cpu", "seconds"): 7.5,
        ("gather-dep", "network", "seconds"): 0.25,
    }
    assert [row["value"] for row in found["activities"]] == [7.5, 0.25]
    assert [row["prefix"] is None for row in found["activities"]] == [False, True]
    assert found["spans"] == [
        {"names": ["nightly", HOSTILE], "activity": "thread-cpu", "unit": "seconds", "value": 7.5}
    ]


def test_windows_that_touch_add_up_to_the_whole(
    measured: Cluster, direct: psycopg.Connection, now: float
) -> None:
    whole = values(fine_performance_of(direct, Scope(measured), *micro(now, now + 99)))
    assert whole[PREFIX, "thread-cpu", "seconds"] == 20
    edges = [now, now + 10, now + 10.000001, now + 42, now + 99]
    parts = [
        values(fine_performance_of(direct, Scope(measured), *micro(*part)))
        for part in itertools.pairwise(edges)
    ]
    assert {name: sum(part.get(name, 0) for part in parts) for name in whole} == pytest.approx(whole)


def test_of_too_many_rows_dask_spans_are_left_out(
    measured: Cluster, direct: psycopg.Connection, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MOST_ROWS", 1)
    found = fine_performance_of(direct, Scope(measured), *micro(now, now + 50))
    assert_documented(FinePerformance, found)
    assert (found["spans"], len(found["activities"])) == (None, 3)


def test_a_public_link_has_its_window_alone_and_no_addresses(
    measured: Cluster, direct: psycopg.Connection, now: float
) -> None:
    window = micro(now, now + 50)
    scope = Scope(measured, *window, is_public=True, pseudonyms=read_pseudonyms(measured))
    found = fine_performance_of(direct, scope, *micro(1, now + 1e6))
    assert values(found)[PREFIX, "thread-cpu", "seconds"] == 9.5, "nothing from after the window"
    assert "10.1.2.3" not in str(found)


def test_of_a_stock_cluster_there_is_nothing(cluster: Cluster, direct: psycopg.Connection) -> None:
    assert fine_performance_of(direct, Scope(cluster), 1, 2) == {"activities": [], "spans": []}
