"""Where the time of the threads went on the tab Why?: of clients, of workers that start, and of tasks."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.records import Sample, Series, WorkerSeen
from tests.support.projects import World
from tests.support.recorded_cluster import GIB, START, Recorded

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WORKER, LATER = "tcp://10.0.0.1:4000", "tcp://10.0.0.1:4001"
FUNCTION = "<img src=x onerror=alert(1)>"
RUN = "0" * 32


@pytest.fixture
def timeline(world: World, recorded: Recorded) -> str:
    """The URL of a cluster whose client sent a graph and gathered; one of its workers started up for 2 s."""
    recorded.worker(WORKER, "w0")
    for key in (0, 1):
        recorded.span(f"('load-1', {key})", WORKER, 5, 8)
        recorded.transition(4.5, f"('load-1', {key})", "released", "waiting")
        recorded.transition(5, f"('load-1', {key})", "waiting", "processing", WORKER)
        recorded.transition(8, f"('load-1', {key})", "processing", "memory", WORKER)
    started = {"pid": 7, "process_started": START + 1}
    later = WorkerSeen(LATER, "w1", "10.0.0.1", 1, 4 * GIB, START + 3, detail=started)
    contention = Series("observatory_worker_gil_contention_ratio", (), WORKER)
    activities = [("code", 0, 10), ("optimizing", 2, 3), ("sending", 3, 4), ("gathering", 8, 9)]
    rows = {
        "client_activity": [(START + first, START + last, RUN, name) for name, first, last in activities],
        "computation": [(START + 4.5, "c1", "Client-1", "", [], {}, [])],
        "profile": [(START + 6, WORKER, "task", "load", f"main\tmain.py\t1\n{FUNCTION}\tload.py\t12", 300)],
    }
    with Writer() as writer:
        samples = [Sample(contention, START + time, 0.5) for time in range(11)]
        writer.write(Batch.of(recorded.cluster, workers=[later], samples=samples, rows=rows))
    recorded.agent()
    return f"/clusters/{world.ended.pk}/?{urlencode({'from': START, 'to': START + 10, 'tab': 'why'})}"


def test_the_table_tells_what_the_client_did_and_the_part_below_what_computed(
    page: Page, timeline: str, complaints: list[str]
) -> None:
    page.goto(timeline)
    page.wait_for_function("() => document.documentElement.dataset.ready === '1'")
    panel = page.locator("[data-chart=thread-times]")
    panel.scroll_into_view_if_needed()
    table = panel.get_by_role("table", name="time of threads by what they did")
    for name in ("no worker yet", "client: sending the graph", "client: optimizing", "client: own code"):
        expect(table.get_by_role("row", name=name)).to_be_visible()
    expect(table.get_by_role("row", name="client: gathering")).to_be_visible()
    expect(table.get_by_role("row", name="no worker yet")).to_contain_text("2.00 s")
    expect(panel.locator(".computing-part")).to_contain_text("(25 %) of computing waited for the GIL")
    functions = panel.get_by_role("list", name="functions that computed")
    expect(functions.get_by_role("listitem")).to_contain_text(["100 %"])
    expect(functions).to_contain_text(FUNCTION)
    expect(functions).to_contain_text("load.py:12")
    assert complaints == []
