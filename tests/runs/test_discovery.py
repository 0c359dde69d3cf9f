"""Runs that come by themselves. In these tests a run ends when its cluster is idle for ten seconds."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import psycopg
import pytest

from observatory.clusters.models import Cluster
from observatory.replay.tiles import builder
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import TileId
from observatory.runs import tasks
from observatory.runs.models import Permalink, Run
from observatory.runs.sharing.link_tokens import stored
from observatory.runs.sharing.scopes import scope_of_run
from observatory.runs.tasks import find_runs
from observatory.store.connection import connect
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.times import from_seconds
from tests.runs.conftest import Work
from tests.runs.discovered import end, only, quiet, windows


def test_a_line_that_the_last_task_logs_some_milliseconds_after_its_span_belongs_to_the_run(
    cluster: Cluster, writer: Writer, work: Work, make: Any, now: float
) -> None:
    work(now, now + 5)
    line = (now + 4.503, "worker", make.address, 30, "etl", "the last words", "", 1)
    writer.write(Batch.of(cluster.pk, rows={"log": [line]}))
    quiet(writer, cluster, now + 15)
    find_runs()
    [(start, stop)] = windows(cluster, now)
    assert (start, stop) == (0, pytest.approx(4.503001, abs=1e-5))
    find_runs()
    assert windows(cluster, now) == [(start, stop)]


def test_what_is_worked_on_is_a_run_that_goes_on_until_the_cluster_was_idle_for_long_enough(
    cluster: Cluster, writer: Writer, work: Work, now: float
) -> None:
    work(now, now + 5)
    find_runs()
    assert windows(cluster, now) == [(0, None)]
    assert only(cluster).outcome == Run.Outcome.RUNNING
    quiet(writer, cluster, now + 14)
    find_runs()
    assert windows(cluster, now) == [(0, None)]
    quiet(writer, cluster, now + 15)
    find_runs()
    assert windows(cluster, now) == [(0, 4.5)]
    run = only(cluster)
    assert (run.origin, run.outcome, run.name) == (Run.Origin.FOUND, Run.Outcome.FINISHED, "inc")
    assert (run.tasks, run.errors, run.figures["seconds"]) == (5, 0, {"compute": 2.5})


def test_a_pause_shorter_than_the_projects_idle_time_is_part_of_a_run_and_a_longer_one_is_between_two(
    cluster: Cluster, work: Work, now: float
) -> None:
    work(now, now + 3)
    work(now + 12, now + 15)
    work(now + 26, now + 28)
    find_runs()
    assert windows(cluster, now) == [(0, 14.5), (26, None)]
    # it is the same whether it is looked at at once or bit by bit
    Run.objects.all().delete()
    cluster.run_discovery.delete()
    cluster.project.run_idle_seconds = 60
    cluster.project.save()
    find_runs()
    assert windows(cluster, now) == [(0, None)]


def test_a_run_grows_with_what_is_done_and_only_what_is_new_is_looked_at(
    cluster: Cluster, work: Work, now: float
) -> None:
    for start in range(0, 200, 8):
        work(now + start, now + start + 4)
        find_runs()
        assert windows(cluster, now) == [(0, None)]
        with connect() as connection:  # what was looked at isn't needed any more
            connection.execute("DELETE FROM span WHERE cluster_id = %s", [cluster.pk])
    end(cluster, now + 200)
    find_runs()
    assert windows(cluster, now) == [(0, 195.5)]


def test_a_run_goes_on_while_a_long_task_is_being_computed(
    cluster: Cluster, writer: Writer, work: Work, make: Any, now: float
) -> None:
    work(now, now + 2)
    quiet(writer, cluster, now + 100, processing=1)
    find_runs()
    assert windows(cluster, now) == [(0, None)]
    writer.write(Batch.of(cluster.pk, spans=[make.span(now + 2, stop=now + 100)], committed=now + 101))
    quiet(writer, cluster, now + 150)
    find_runs()
    assert windows(cluster, now) == [(0, 100)]


def test_a_late_record_that_lies_between_two_runs_makes_them_one(
    cluster: Cluster, writer: Writer, work: Work, make: Any, now: float
) -> None:
    work(now, now + 2)
    work(now + 15, now + 17)
    find_runs()
    assert windows(cluster, now) == [(0, 1.5), (15, None)]
    writer.write(Batch.of(cluster.pk, spans=[make.span(now + 1, stop=now + 15)]))
    find_runs()
    assert windows(cluster, now) == [(0, None)]


@pytest.mark.parametrize("touch", ["name", "tags", "pinned", "shared"])
def test_a_run_that_somebody_made_theirs_is_extended_but_never_joined_to_another_nor_renamed(
    cluster: Cluster, writer: Writer, work: Work, make: Any, now: float, touch: str
) -> None:
    work(now, now + 2)
    work(now + 15, now + 17)
    find_runs()
    later = cluster.runs.latest("start")
    match touch:
        case "name":
            later.name = "nightly"
        case "tags":
            later.tags = {"git": "3f2a"}
        case "pinned":
            later.pinned = True
        case "shared":
            Permalink.objects.create(run=later, **stored("t"))
    later.save()
    writer.write(Batch.of(cluster.pk, spans=[make.span(now + 1, stop=now + 15, prefix="sum")]))
    end(cluster, now + 60)
    find_runs()
    run = only(cluster)
    assert run.pk == later.pk
    assert (run.pinned, run.tags) == (later.pinned, later.tags)
    assert run.name == "nightly" if touch == "name" else run.name == "sum and inc"
    assert windows(cluster, now) == [(0, 16.5)]


def test_a_run_that_was_deleted_is_not_found_again(cluster: Cluster, work: Work, now: float) -> None:
    work(now, now + 3)
    find_runs()
    cluster.runs.all().delete()
    work(now + 20, now + 22)
    find_runs()
    assert windows(cluster, now) == [(20, None)]


def test_a_run_goes_on_when_its_cluster_does(cluster: Cluster, work: Work, now: float) -> None:
    work(now, now + 3)
    end(cluster, now + 3, "its agent fell silent")
    find_runs()
    assert windows(cluster, now) == [(0, 2.5)]
    Cluster.objects.update(ended=None, end_reason="")
    work(now + 5, now + 7)
    find_runs()
    assert windows(cluster, now) == [(0, None)]
    assert only(cluster).outcome == Run.Outcome.RUNNING


@pytest.mark.parametrize("origin", [Run.Origin.CODE, Run.Origin.IMPORTED])
def test_what_is_done_in_a_run_that_was_opened_from_code_is_not_found_again(
    cluster: Cluster, work: Work, now: float, origin: str
) -> None:
    given = {"cluster": cluster, "origin": origin, "code_id": uuid4(), "name": "etl"}
    Run.objects.create(start=from_seconds(now), stop=from_seconds(now + 10), **given)
    work(now, now + 10)
    find_runs()
    assert windows(cluster, now) == [(0, 10)]
    work(now + 12, now + 15)
    find_runs()
    assert windows(cluster, now) == [(0, 10), (12, None)]


def test_a_run_that_is_opened_from_code_ends_the_one_that_was_found_before_it(
    cluster: Cluster, writer: Writer, work: Work, now: float
) -> None:
    work(now, now + 10)
    find_runs()
    Run.objects.create(
        cluster=cluster, origin=Run.Origin.CODE, code_id=uuid4(), name="etl", start=from_seconds(now + 11)
    )
    work(now + 12, now + 30)
    quiet(writer, cluster, now + 31, processing=5)
    find_runs()
    assert windows(cluster, now) == [(0, 9.5), (11, None)]


def test_a_span_of_no_length_is_a_run_too(cluster: Cluster, writer: Writer, make: Any, now: float) -> None:
    writer.write(Batch.of(cluster.pk, spans=[make.span(now, stop=now)], committed=now + 100))
    find_runs()
    assert windows(cluster, now) == [(0, pytest.approx(0, abs=1e-5))]


def test_figures_of_a_run_that_goes_on_are_counted_again_after_a_while(
    cluster: Cluster, work: Work, now: float
) -> None:
    work(now, now + 5)
    find_runs()
    assert only(cluster).tasks == 5
    work(now + 5, now + 10)
    find_runs()
    assert only(cluster).tasks == 5
    Run.objects.update(counted=from_seconds(now - 120))
    find_runs()
    assert only(cluster).tasks == 10


def test_the_tiles_of_a_run_are_there_when_it_is_opened(
    cluster: Cluster, writer: Writer, work: Work, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder, "FEW_ROWS", 0)
    work(now, now + 5)
    work(now + 30, now + 33)
    quiet(writer, cluster, now + 200)
    find_runs()
    read: list[TileId] = []
    monkeypatch.setattr(
        builder, "tile_from_rows", lambda connection, scope, layer, tile_id: read.append(tile_id)
    )
    for run in cluster.runs.all():
        scope = scope_of_run(run)
        with connect() as connection:
            for tile_id in builder.covering_tile_ids(scope.start / 1e6, scope.stop / 1e6):
                assert builder.get_tile(connection, scope, Layer("spans"), tile_id).closed
    assert cluster.runs.count() == 2
    assert read == []


def test_the_tiles_of_a_window_go_once_its_run_has_another(
    cluster: Cluster,
    writer: Writer,
    work: Work,
    now: float,
    direct: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def with_tiles() -> list[str]:
        query = """SELECT DISTINCT split_part(layer, '@', 2) FROM tile
                   WHERE cluster_id = %s AND layer LIKE '%%@%%'"""
        return [window for (window,) in direct.execute(query, [cluster.pk]).fetchall()]

    monkeypatch.setattr(builder, "FEW_ROWS", 0)
    work(now, now + 5)
    quiet(writer, cluster, now + 200)
    find_runs()
    first = scope_of_run(only(cluster))
    assert with_tiles() == [f"{first.start}-{first.stop}"]
    cluster.runs.update(stop=from_seconds(now + 3), counted=None)
    find_runs()
    second = scope_of_run(only(cluster))
    assert with_tiles() == [f"{second.start}-{second.stop}"]
    assert second.stop < first.stop


def test_only_a_cluster_with_new_records_or_an_open_run_is_searched(
    cluster: Cluster, writer: Writer, work: Work, now: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def searched() -> list[Cluster]:
        found: list[Cluster] = []
        with monkeypatch.context() as patch:
            patch.setattr(tasks, "discover", found.append)
            find_runs()
        return found

    assert searched() == [cluster], "it never was"
    work(now, now + 5)
    find_runs()
    assert searched() == [cluster], "its run may end"
    quiet(writer, cluster, now + 15)
    find_runs()
    assert searched() == []
    end(cluster, now + 20)
    assert searched() == []
    work(now + 16, now + 18)
    assert searched() == [cluster], "late tasks are a run"


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The clusters that are searched, in order."""
    found: list[int] = []
    discover = tasks.discover

    def noted(one: Cluster) -> None:
        found.append(one.pk)
        discover(one)

    monkeypatch.setattr(tasks, "discover", noted)
    return found


def test_of_many_live_clusters_each_is_searched_in_its_turn_and_one_that_ended_in_each(
    cluster: Cluster, work: Work, now: float, searched: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "CLUSTERS_OF_TURN", 0.25)
    turn = iter(range(100))
    monkeypatch.setattr(tasks, "_turn", lambda: next(turn))
    work(now, now + 5)
    for _ in range(2):
        for _ in range(5):
            find_runs()
        assert searched == [cluster.pk], "a live cluster has every fifth turn"
        searched.clear()
    end(cluster, now + 6)
    find_runs()
    assert searched == [cluster.pk]


def test_of_many_live_clusters_one_whose_run_goes_on_waits_longer_until_its_work_pauses(
    cluster: Cluster, work: Work, now: float, searched: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "CLUSTERS_OF_TURN", 1)
    turn = iter(range(cluster.pk, cluster.pk + 100))
    monkeypatch.setattr(tasks, "_turn", lambda: next(turn))
    tasks._records.clear()
    work(now, now + 1)
    find_runs()
    assert searched == [cluster.pk], "its run begins"
    for second in range(1, 2 * tasks.GOING_ON):
        work(now + second, now + second + 1)
        find_runs()
    assert searched == [cluster.pk], "its run goes on"
    find_runs()
    assert searched == [cluster.pk] * 2, "nothing new came, and its run may end"
    assert only(cluster).start.timestamp() == pytest.approx(now, abs=1.0)


@pytest.mark.parametrize("origin", [Run.Origin.FOUND, Run.Origin.CODE])
def test_records_that_come_long_after_their_run_ended_are_counted(
    cluster: Cluster, writer: Writer, make: Any, now: float, origin: Run.Origin
) -> None:
    def compute(*starts: float) -> None:
        spans = [make.span(start, key=f"inc-{start}", prefix="inc", group="inc") for start in starts]
        writer.write(Batch.of(cluster.pk, spans=spans, committed=now + 60))

    cluster.project.run_idle_seconds = 10
    cluster.project.save()
    compute(now, now + 1, now + 4)
    end(cluster, now + 60)
    find_runs()
    run = only(cluster)
    Run.objects.update(origin=origin)
    assert (run.tasks, run.contents["prefixes"][0]["tasks"]) == (3, 3)
    counted = run.counted
    find_runs()
    assert only(cluster).counted == counted, "it is counted once where nothing comes"

    compute(now + 2, now + 3, run.stop.timestamp() - 0.1)
    find_runs()
    run = only(cluster)
    assert (run.tasks, run.contents["prefixes"][0]["tasks"]) == (6, 6)
    assert run.counted > counted
    compute(now + 50)
    counted = only(cluster).counted
    Run.objects.update(records_came=None)
    find_runs()
    assert cluster.runs.order_by("start")[0].counted == counted, "others' records are nothing to it"
