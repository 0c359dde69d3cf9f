"""Workers that were restarted, on the page of their cluster: one row and one line each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.wire.records import Action, MetricType, Sample, Series, Span, WorkerGone, WorkerSeen
from tests.support.projects import STARTED, World

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

START = STARTED.timestamp()
READY = "() => document.documentElement.dataset.ready === '1' && !window.observatory.context.tiles.loading"
LIFETIMES = {
    "dask-worker-pool-a-7f9c5d6b8-x2kqz": ((5, 20), (24, 41), (44, 60), (63, 100)),
    "1": ((5, 50), (53, 100)),
    "2": ((5, 100),),
}
"""first and last second, by name"""


@pytest.fixture
def restarted(transactional_db: None, world: World) -> Iterator[str]:
    """The address of an ended cluster of three workers with seven lifetimes; a worker died in each pause."""
    with Writer() as writer:
        lives = [(name, *span) for name, spans in LIFETIMES.items() for span in spans]
        for number, (name, first, last) in enumerate(sorted(lives, key=lambda life: life[1])):
            address = f"tcp://10.0.0.1:{4000 + number}"
            seen = WorkerSeen(address, name, "10.0.0.1", 2, 2**30, START + first)
            spans = [
                Span(
                    address,
                    thread,
                    f"{prefix}-{second}",
                    prefix,
                    prefix,
                    Action.COMPUTE,
                    START + second,
                    START + second + 2.5 - thread,
                    8,
                    "int",
                )
                for second in range(first, last - 2, 3)
                for thread, prefix in ((0, "load"), (1, "sum"))
            ]
            memory = Series(
                "observatory_worker_memory_bytes", (("type", "process"),), address, MetricType.GAUGE
            )
            samples = [Sample(memory, START + second, 5e8 + 1e7 * number) for second in range(first, last)]
            gone = [WorkerGone(address, START + last, "lost")] if last < 100 else []
            batch = Batch.of(world.ended.pk, [seen], spans, samples, gone=gone, committed=START + last)
            writer.write(batch)
    yield f"/clusters/{world.ended.pk}/"
    delete_cluster(world.ended.pk)


def test_a_restarted_worker_is_one_row_one_line_and_one_selection(page: Page, restarted: str) -> None:
    page.goto(restarted)
    page.wait_for_function(READY)
    stream = page.locator("[data-chart=task-stream]")
    canvas = stream.locator("canvas")
    expect(stream.locator("h2")).to_contain_text("3 workers (7 lifetimes)")
    expect(page.locator(".cluster-facts")).to_contain_text("3 workers (7 lifetimes)")
    expect(canvas).to_have_attribute("aria-label", "Task stream: 6 rows of 3 workers (7 lifetimes)")
    memory = page.locator("[data-chart=memory]").get_by_role("button")
    assert memory.all_inner_texts() == ["1", "2", "dask-worker-pool-a-7f9c5d6b8-x2kqz"]

    canvas.hover(position={"x": 40, "y": 20})
    tooltip = stream.locator(".tooltip")
    expect(tooltip).to_contain_text("tcp://10.0.0.1:")
    expect(tooltip).to_contain_text("lifetime 2")
    canvas.click(position={"x": 40, "y": 20})
    expect(memory.first).to_have_attribute("aria-pressed", "true")
    chosen = page.evaluate(
        """() => {
          const { model, selection } = window.observatory.context;
          return model.lifetimesOf(selection.worker).map(id => model.workers.get(id).name);
        }"""
    )
    assert chosen == ["1", "1"]
