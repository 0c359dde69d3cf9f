"""Results in memory say which are on disk instead, and of which workers that is unknown."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from observatory.runs.models import Run
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.records import WorkerSeen
from tests.support.projects import HOSTILE, World
from tests.support.recorded_cluster import START, Recorded, at

pytestmark = [pytest.mark.browser]

A, B = "tcp://10.0.0.1:4000", "tcp://10.0.0.1:4001"
MIB = 2**20
READY = "() => document.documentElement.dataset.ready === '1'"


@pytest.fixture
def run(world: World, recorded: Recorded) -> Run:
    seen = WorkerSeen(A, "alice", "10.0.0.1", 2, 1000, START, detail={"reports_spilled": True})
    silent = WorkerSeen(B, HOSTILE, "10.0.0.1", 2, 1000, START)
    with Writer() as writer:
        writer.write(Batch.of(world.ended.pk, [seen, silent], []))
        recorded.workers.update(
            dict(recorded.connection.execute("SELECT address, id FROM worker").fetchall())
        )
        for key, worker in (("load-1", A), ("load-2", A), ("load-3", B)):
            recorded.span(key, worker, 1, 2)
        rows = {
            "transition": [
                (START + 3, key, "processing", "memory", worker, "")
                for key, worker in (("load-1", A), ("load-2", A), ("load-3", B))
            ],
            "spill": [(START + 10, "load-1", A, 3.0 * MIB), (START + 40, "load-1", A, 0.0)],
        }
        writer.write(Batch.of(world.ended.pk, committed=START + 60, rows=rows))
    recorded.agent()
    world.ended.started, world.ended.ended = at(-60), at(60)
    world.ended.save()
    window = {"start": at(0), "stop": at(60), "origin": Run.Origin.CUT, "counted": timezone.now()}
    return Run.objects.create(cluster=world.ended, name="a run", **window)


def test_a_spilled_result_has_its_size_on_disk_and_a_silent_worker_is_named(
    page: Page, run: Run, complaints: list[str]
) -> None:
    for second, expected in ((20, "3.00 MiB"), (50, "–")):
        page.goto(f"/runs/{run.pk}/?tab=memory&at={START + second}")
        page.wait_for_function(READY)
        results = page.locator("[data-chart=results-now]")
        results.scroll_into_view_if_needed()
        cells = {
            key: results.locator("tbody tr", has_text=key).locator("td").nth(3)
            for key in ("load-1", "load-2", "load-3")
        }
        expect(cells["load-1"]).to_have_text(expected)
        expect(cells["load-2"]).to_have_text("–")
        expect(cells["load-3"]).to_have_text("unknown")
        note = results.locator(".chart-empty").first
        expect(note).to_contain_text(f"which results {HOSTILE} spilled is unknown")
        if second == 20:
            expect(note).to_contain_text("1 of these is spilled, 3.00 MiB on disk")
        else:
            expect(note).not_to_contain_text("on disk")
    assert complaints == []
