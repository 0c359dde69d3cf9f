"""The memory of several runs since their starts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from observatory.comparison.aligned_memory import MOST_RUNS
from observatory.comparison.memory_over_time import BINS, STALE_AFTER
from observatory.comparison.schemas import AlignedMemory
from observatory.runs.models import Run
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.times import from_seconds
from observatory.wire.records import Sample, Series
from tests.comparison.made_runs import GIB, START, make_run
from tests.support.projects import World
from tests.support.response_schemas import assert_documented

URL = "/api/v1/runs/memory"


@pytest.fixture(autouse=True)
def nothing_is_left(transactional_db: None, world: World) -> Iterator[None]:
    yield
    for cluster in (world.ended, world.elsewhere):
        delete_cluster(cluster.pk)


def get(world: World, *runs: Run, role: str = "viewer", **query: Any) -> Any:
    ids = ",".join(str(run.pk) for run in runs)
    return world.client(role).get(URL, {"runs": ids, **query}).json()


def sampled(world: World, values: dict[float, float], stop: float) -> Run:
    """A run from START on, whose cluster told its memory (GiB) at these seconds."""
    series = Series("observatory_cluster_memory_bytes", (("type", "process"),), "")
    with Writer() as writer:
        samples = [Sample(series, START + second, value * GIB) for second, value in values.items()]
        writer.write(Batch.of(world.ended.pk, samples=samples))
    window = {"start": from_seconds(START), "stop": from_seconds(START + stop)}
    return Run.objects.create(cluster=world.ended, name="sampled", origin=Run.Origin.CUT, **window)


def test_runs_of_any_time_begin_together_and_have_the_order_that_was_asked_for(world: World) -> None:
    long = make_run(world.ended, 100, {"load": 0.4}, memory=2)
    short = make_run(world.ended, 0, {"load": 0.1}, memory=1)
    found = get(world, long, short)
    assert_documented(AlignedMemory, found)
    assert [each["id"] for each in found["runs"]] == [long.pk, short.pk]
    assert found["runs"][0]["line"][0] == pytest.approx(1 * GIB)
    assert found["runs"][0]["peak"] == max(found["runs"][0]["line"])
    for each in found["runs"]:
        assert len(each["line"]) == pytest.approx(each["seconds"] / found["width"], abs=1)


def test_each_measure_of_a_memory_sampler_can_be_chosen(world: World) -> None:
    run = make_run(world.ended, 0, {"load": 0.4}, memory=2)
    process = get(world, run)
    assert process["measure"] == "process"
    for measure, share in (("managed", 0.25), ("unmanaged", 0.75), ("spilled", 0)):
        found = get(world, run, measure=measure)
        assert found["measure"] == measure
        assert found["runs"][0]["peak"] == pytest.approx(share * process["runs"][0]["peak"])


def test_the_peak_between_two_bins_is_not_lost(world: World) -> None:
    hour = {second: 3.0 if second == 1801 else 1.0 for second in range(3600)}
    [found] = get(world, sampled(world, hour, 3600))["runs"]
    assert len(found["line"]) <= BINS
    assert found["peak"] == 3 * GIB
    assert found["line"].count(3 * GIB) == 1


def test_the_last_value_holds_until_it_is_old_and_then_nothing_is_known(world: World) -> None:
    found = get(world, sampled(world, {0: 1, 40: 2}, 50))
    width, [line] = found["width"], [each["line"] for each in found["runs"]]
    held = [bin * width for bin, value in enumerate(line) if value == 1 * GIB]
    assert held[-1] == pytest.approx(STALE_AFTER, abs=width)
    assert line[round(30 / width)] is None
    assert line[-1] == 2 * GIB


def test_values_that_are_no_numbers_are_left_out(world: World) -> None:
    found = get(world, sampled(world, {0: 1, 1: float("inf"), 2: float("-inf")}, 3))
    assert found["runs"][0]["peak"] == 1 * GIB
    assert set(found["runs"][0]["line"]) == {1 * GIB}


def test_a_run_without_samples_has_no_peak(world: World) -> None:
    found = get(world, sampled(world, {}, 3))["runs"][0]
    assert found["peak"] is None
    assert set(found["line"]) == {None}


def test_runs_that_one_may_not_see_are_left_out_as_those_that_are_gone(world: World) -> None:
    theirs = make_run(world.elsewhere, 0, {"load": 0.1})
    ours = make_run(world.ended, 0, {"load": 0.1})
    gone = Run(pk=999_999)
    assert [each["id"] for each in get(world, theirs, gone, ours)["runs"]] == [ours.pk]
    assert get(world, ours, gone, role="nobody")["runs"] == []


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"runs": ""},
        {"runs": "1,x"},
        {"runs": "0"},
        {"runs": "1" * 30},
        {"runs": ",".join(str(number) for number in range(1, MOST_RUNS + 2))},
        {"runs": "1", "measure": "swapped"},
    ],
)
def test_what_can_not_be_asked_is_refused_in_words(world: World, query: dict[str, str]) -> None:
    answer = world.client("viewer").get(URL, query)
    assert answer.status_code == 422
    assert answer.json()["detail"]
