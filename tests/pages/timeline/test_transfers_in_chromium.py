"""Three clicks from a run's page: who sent what to whom, which shuffle moved what, what was stolen."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from observatory.runs.models import Run
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.records import Action, Sample, Series, Span
from tests.support.projects import HOSTILE, World
from tests.support.recorded_cluster import START, Recorded, at

pytestmark = [pytest.mark.browser]

A, B = "tcp://10.0.0.1:4000", "tcp://10.0.0.1:4001"
MIB = 2.0**20
WAITING = "('sum-<img src=x onerror=alert(1)>', 0)"
READY = "() => document.documentElement.dataset.ready === '1'"
PLACE = """() => {
  const { selection, timeline, model } = observatory.context;
  return [selection.key, model.workers.get(selection.worker)?.name ?? null, timeline.playhead];
}"""


def fetch(key: str, worker: str, start: float) -> Span:
    """What Dask says of a transfer: the size is that of the waiting task's result."""
    return Span(worker, 1, key, "sum", "sum", Action.TRANSFER, START + start, START + start + 2, 28, "int")


def moved(start: float, sender: str, receiver: str, mib: float, **keys: float) -> tuple[Any, ...]:
    return (START + start, START + start + 2, receiver, sender, 0, mib * MIB, 0.0, keys, len(keys))


def chart(page: Page, name: str) -> Locator:
    """A chart in sight: others are not drawn."""
    found = page.locator(f"[data-chart={name}]")
    found.scroll_into_view_if_needed()
    return found


@pytest.fixture
def run(world: World, recorded: Recorded) -> Run:
    recorded.worker(A, "alice")
    recorded.worker(B, "bob")
    recorded.span("load-1", A, 1, 50)
    world.ended.started, world.ended.ended = at(-60), at(60)
    world.ended.save()
    window = {"start": at(0), "stop": at(60), "origin": Run.Origin.CUT, "counted": timezone.now()}
    return Run.objects.create(cluster=world.ended, name="a run", **window)


@pytest.fixture
def observed_run(run: Run, recorded: Recorded) -> Run:
    rows = {
        "transfer": [
            moved(10, A, B, 8, **{"load-1": 6 * MIB, "load-2": 2 * MIB}),
            moved(20, A, B, 2, **{"load-3": 2 * MIB}),
            moved(30, B, A, 1, **{"load-4": MIB}),
        ],
        "steal": [
            (START + 5, "request", "load-1", A, B, 3, 0.1, 9.0, 0.0),
            (START + 5.1, "confirm", "load-1", A, B, -1, 0.0, 0.0, 0.0),
            (START + 6, "already-computing", "load-2", A, B, -1, 0.0, 0.0, 0.0),
        ],
        "shuffle": [
            (START + second, "shuffle-1", "comm", what, (second - 20) * MIB)
            for second in range(20, 31)
            for what in ("written", "read")
        ],
    }
    of_bytes = Series("observatory_cluster_transfer_bytes_per_second", (("type", HOSTILE),), "")
    samples = [Sample(of_bytes, START + second, 4 * MIB) for second in range(10, 30)]
    batch = Batch.of(
        run.cluster_id, spans=[fetch(WAITING, B, 10)], samples=samples, committed=START + 60, rows=rows
    )
    with Writer() as writer:
        writer.write(batch)
    recorded.agent()
    return run


def test_it_says_who_sent_what_to_whom_how_fast_and_what_waited(
    page: Page, observed_run: Run, complaints: list[str]
) -> None:
    page.goto(f"/runs/{observed_run.pk}/")
    page.wait_for_function(READY)
    page.get_by_role("link", name="Transfers").click()
    pairs = chart(page, "transfer-pairs").locator("tbody tr")
    expect(pairs).to_have_count(2)
    expect(pairs.first).to_have_text("alice → bob10.0 MiB24.00 s2.50 MiB/s")
    expect(chart(page, "bandwidth-types").locator(".legend")).to_have_text(HOSTILE)
    matrix = page.get_by_role("application", name="Matrix of transfers")
    matrix.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    told = chart(page, "transfer-matrix").locator("[aria-live]")
    expect(told).to_have_text(
        "alice → bob: moved 10.0 MiB, in 2 transfers, took 4.00 s, bandwidth 2.50 MiB/s"
    )
    page.keyboard.press("Enter")
    assert page.evaluate(PLACE)[1] == "bob"
    expect(page.locator("[data-chart=transfers-over-time] .legend")).to_contain_text("received by bob")

    largest = chart(page, "largest-transfers").locator("tbody tr")
    expect(largest.first).to_contain_text("8.00 MiB")
    expect(largest.first).to_contain_text(WAITING)
    page.get_by_role("button", name="load-1 and 1 more", exact=True).click()
    key, worker, playhead = page.evaluate(PLACE)
    assert (key, worker, playhead) == (WAITING, None, pytest.approx(START + 10))
    page.get_by_role("button", name="Details of load-1 and 1 more").click()
    expect(page.locator(".transfer-keys li")).to_have_text(["load-1 6.00 MiB", "load-2 2.00 MiB"])
    assert complaints == []


def test_it_says_which_shuffle_moved_what_by_the_playhead_and_what_was_stolen(
    page: Page, observed_run: Run, complaints: list[str]
) -> None:
    page.goto(f"/runs/{observed_run.pk}/?tab=transfers")
    page.wait_for_function(READY)
    shuffle = chart(page, "shuffles").locator("tbody tr")
    expect(shuffle).to_contain_text("shuffle-1")
    expect(shuffle).to_contain_text("10.0 MiB")
    page.evaluate(f"() => observatory.context.timeline.jump({START + 25.5})")
    expect(shuffle.locator("td").first).to_have_text("50 %")
    page.get_by_role("button", name="shuffle-1", exact=True).click()
    assert page.evaluate(PLACE)[2] == pytest.approx(START + 20)
    expect(shuffle.locator("td").first).to_have_text("0 %")

    steals = chart(page, "steals")
    expect(
        steals.get_by_text("Requests to steal: 1 succeeded, 1 came too late (computing already).")
    ).to_be_visible()
    expect(steals.locator("tbody tr")).to_contain_text("load-1")
    expect(steals.locator("tbody tr")).to_contain_text("alicebob")
    steals.get_by_role("button", name="load-1", exact=True).click()
    assert page.evaluate(PLACE) == ["load-1", None, pytest.approx(START + 5.1)]
    assert complaints == []


def test_without_an_agent_it_says_what_is_missing_and_no_wrong_number(
    page: Page, run: Run, complaints: list[str]
) -> None:
    with Writer() as writer:
        writer.write(Batch.of(run.cluster_id, spans=[fetch(WAITING, B, 10)], committed=START + 60))
    page.goto(f"/runs/{run.pk}/?tab=transfers")
    page.wait_for_function(READY)
    for name in ("transfers-over-time", "transfer-matrix", "transfer-pairs", "largest-transfers"):
        told = chart(page, name).locator(".chart-empty")
        expect(told).to_contain_text("1 transfer took 2.00 s in all. Dask's stock endpoints don't tell who")
        expect(told).to_contain_text("The agent adds it.")
    for name in ("shuffles", "steals"):
        expect(chart(page, name).locator(".chart-empty")).to_contain_text("The agent adds")
    expect(page.locator(".transfer-matrix")).to_be_hidden()
    assert complaints == []
