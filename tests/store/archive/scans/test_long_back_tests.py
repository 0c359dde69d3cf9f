"""Back-tests over long archived windows read files piece by piece: the same answers, here and on Dask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from distributed import LocalCluster
from django.conf import LazySettings

from observatory.alerts.evaluation import back_test as module
from observatory.alerts.evaluation import gathered
from observatory.alerts.evaluation.back_test import BackTest, BackTestError, back_test, firings_of_variants
from observatory.alerts.rules.conditions import (
    Aggregate,
    By,
    Comparison,
    MetricCondition,
    NoData,
    RuleSpec,
    Selector,
)
from observatory.clusters.models import Cluster
from observatory.store.archive import presence
from observatory.store.archive.restoring.bringing_back import bring_back
from observatory.store.archive.rounds.round import archive_round
from observatory.store.archive.scans import on_dask, readers
from tests.store.archive.conftest import remove_unused
from tests.store.archive.dask_clusters import dask_cluster, scanned_there
from tests.store.archive.long_history import START, STEP, STEPS

MEMORY = Selector("observatory_worker_memory_bytes")
TOO_MUCH = MetricCondition(MEMORY, By.WORKER, Aggregate.MAX, Comparison.ABOVE, 40.0)
OF_CLUSTER = replace(TOO_MUCH, by=By.CLUSTER, aggregate=Aggregate.SUM, threshold=30.0)
RULES = (
    RuleSpec((TOO_MUCH,)),
    RuleSpec((TOO_MUCH,), hold=10),
    RuleSpec((OF_CLUSTER,)),
    RuleSpec((TOO_MUCH, replace(OF_CLUSTER, threshold=20.0))),
)
LOOKS_BACK = RuleSpec((TOO_MUCH,), no_data=NoData.FIRE)


@pytest.fixture(scope="module")
def dask() -> Iterator[LocalCluster]:
    with dask_cluster() as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def pieces(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each piece has a few samples, and any scan is long enough for Dask."""
    monkeypatch.setattr(module, "SAMPLES_PER_PIECE", 20)
    monkeypatch.setattr(readers, "MANY_ROWS", 1)
    monkeypatch.setattr(on_dask, "ANSWERS_WITHIN", 60.0)
    monkeypatch.setattr(on_dask, "LONGEST", 300.0)
    on_dask.disconnect()
    yield
    on_dask.disconnect()


@pytest.fixture
def archived(connection: psycopg.Connection, recorded: Cluster, folder: Path) -> Cluster:
    archive_round(seconds=3_600)
    assert remove_unused(connection, recorded.pk) > 0
    return recorded


def fired_in(cluster: Cluster, spec: RuleSpec) -> Any:
    return told(back_test(cluster, spec, START, START + STEPS * STEP))


def told(found: BackTest) -> Any:
    return (
        found.durations,
        found.too_short,
        [
            (
                result.outcome.subject,
                result.outcome.times.tolist(),
                str(result.outcome.values.tolist()),
                result.firings,
            )
            for result in found.results
        ],
    )


@pytest.mark.parametrize("where", ["here", "on Dask"])
def test_pieces_of_files_fire_as_the_whole_window_in_the_tables_does(
    where: str,
    connection: psycopg.Connection,
    recorded: Cluster,
    folder: Path,
    dask: LocalCluster,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with monkeypatch.context() as whole:
        whole.setattr(module, "SAMPLES_PER_PIECE", 500_000)
        expected = [fired_in(recorded, spec) for spec in RULES]
    assert all(durations for durations, *_ in expected)
    archive_round(seconds=3_600)
    assert remove_unused(connection, recorded.pk) > 0
    removed = presence.removed_kinds(connection, recorded.pk)
    if where == "on Dask":
        settings.SCAN_SCHEDULER = dask.scheduler_address
        monkeypatch.setattr(module, "MAX_SAMPLES", 10)  # and the limit of here does not hold there
    before = scanned_there(dask)
    assert [fired_in(recorded, spec) for spec in RULES] == expected
    assert (scanned_there(dask) > before) is (where == "on Dask")
    assert "scans run here" not in caplog.text
    variants = firings_of_variants(recorded, [RULES[0]], START, START + STEPS * STEP)
    assert sorted(variants[0], key=str) == sorted(
        (firing for *_, firings in expected[0][2] for firing in firings), key=str
    )
    assert presence.removed_kinds(connection, recorded.pk) == removed


def test_too_many_samples_are_refused_here_and_the_setting_is_named(
    archived: Cluster, dask: LocalCluster, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_SAMPLES", 10)
    with pytest.raises(BackTestError, match="names one with OBSERVATORY_SCAN_SCHEDULER"):
        fired_in(archived, RULES[0])
    monkeypatch.setattr(on_dask, "ANSWERS_WITHIN", 0.5)
    settings.SCAN_SCHEDULER = "tcp://127.0.0.1:9"
    with pytest.raises(BackTestError, match=r"can't be used \(`dask-observatory doctor` says why\)"):
        fired_in(archived, RULES[0])
    monkeypatch.setattr(on_dask, "ANSWERS_WITHIN", 60.0)
    on_dask.disconnect()
    settings.SCAN_SCHEDULER = dask.scheduler_address
    with pytest.raises(BackTestError, match="looks at what was before the window"):
        fired_in(archived, LOOKS_BACK)
    monkeypatch.setattr(module, "MOST_ON_DASK", 10)
    with pytest.raises(BackTestError, match=r"choose a shorter one\.$"):
        fired_in(archived, RULES[0])


def test_of_very_many_steps_a_chart_keeps_the_extremes_and_all_firings_stay(
    archived: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    durations, too_short, results = fired_in(archived, RULES[1])
    monkeypatch.setattr(gathered, "MAX_POINTS", 24)
    monkeypatch.setattr(gathered, "MAX_MARKED", 8)
    monkeypatch.setattr(gathered, "MOST_STEPS", 60)
    found = back_test(archived, RULES[1], START, START + STEPS * STEP)
    assert (found.durations, found.too_short) == (durations, too_short)
    assert [result.firings for result in found.results] == [firings for *_, firings in results]
    for result, (_, times, values, _) in zip(found.results, results, strict=True):
        assert len(result.outcome.times) <= 24 < len(times)
        assert str(result.outcome.values.max()) in values
    again = back_test(archived, RULES[1], START, START + STEPS * STEP)
    assert told(again) == told(found)


def test_it_goes_on_in_the_tables_when_files_do_not_count_any_more(
    connection: psycopg.Connection,
    archived: Cluster,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = fired_in(archived, RULES[0])
    shares: list[float] = []

    def replaced(share: float) -> None:
        shares.append(share)
        if len(shares) == 2:
            bring_back(archived.pk, ["sample"])
            paths = sorted((folder / "sample").rglob("*.parquet"))
            connection.execute("UPDATE archive_piece SET state = 'replaced' WHERE kind = 'sample'")
            for path in paths:
                path.unlink()

    assert told(back_test(archived, RULES[0], START, START + STEPS * STEP, replaced)) == expected
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert len(shares) > 5
