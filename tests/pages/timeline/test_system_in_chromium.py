"""The tab System: machines and processes over time, what differs between them, events and topics."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from observatory.clusters.models import Cluster
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.wire.records import Event, Sample, Series, WorkerSeen
from tests.support.projects import HOSTILE, World
from tests.support.recorded_cluster import START, Recorded, at

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

A, B = "tcp://10.0.0.1:4000", "tcp://10.0.0.2:4000"
READY = "() => document.documentElement.dataset.ready === '1'"
SAMPLES = (
    ("observatory_worker_host_network_bytes_per_second", (("direction", "read"),), A, 5e6),
    ("observatory_worker_host_disk_bytes_per_second", (("direction", "write"),), A, 7e6),
    ("observatory_worker_file_descriptors", (), A, 123.0),
    ("observatory_scheduler_cpu_percent", (), "", 42.0),
    ("observatory_scheduler_memory_bytes", (), "", 2.0**28),
    ("observatory_cluster_clients", (), "", 3.0),
    ("observatory_scheduler_transitions_total", (), "", 7.0),
    ("dask_semaphore_active_leases", (("name", HOSTILE),), "", 2.0),
    ("dask_semaphore_max_leases", (("name", HOSTILE),), "", 4.0),
    ("dask_semaphore_pending_leases", (("name", HOSTILE),), "", 5.0),
    ("dask_semaphore_average_pending_lease_time_s", (("name", HOSTILE),), "", 1.5),
)


@pytest.fixture
def cluster(world: World, recorded: Recorded) -> Cluster:
    seen = [
        WorkerSeen(worker, name, "10.0.0.1", 2, 2**30, START, detail={"versions": {"numpy": version}})
        for worker, name, version in ((A, "w0", "2.1"), (B, "w1", "2.2"))
    ]
    samples = [
        Sample(Series(metric, labels, worker), START + second, value)
        for second in range(60)
        for metric, labels, worker, value in SAMPLES
    ]
    events = [Event(START + 20, "topic", B, {"message": HOSTILE, "topic": "progress", "event": {"step": 3}})]
    with Writer() as writer:
        writer.write(Batch.of(world.ended.pk, seen, samples=samples, events=events, committed=START + 100))
    world.ended.started, world.ended.ended = at(-60), at(60)
    world.ended.save()
    return world.ended


def test_machines_and_the_scheduler_are_drawn_over_time(
    page: Page, cluster: Cluster, complaints: list[str]
) -> None:
    page.goto(f"/clusters/{cluster.pk}/?tab=system&from={START}&to={START + 60}&at={START + 30}")
    page.wait_for_function(READY)
    for chart, text in (
        ("network-received", "w0 4.77 MiB/s"),
        ("disk-written", "w0 6.68 MiB/s"),
        ("file-descriptors", "w0 123"),
        ("scheduler-cpu", "scheduler 42 %"),
        ("scheduler-memory", "scheduler 256.0 MiB"),
        ("clients", "clients 3"),
        ("semaphores", f"{HOSTILE}: in use 2"),
    ):
        panel = page.locator(f"[data-chart={chart}]")
        panel.scroll_into_view_if_needed()
        canvas = panel.locator("canvas")
        page.wait_for_function(
            "([canvas, text]) => canvas.getAttribute('aria-label').includes(text)",
            arg=[canvas.element_handle(), text],
        )
    assert complaints == []


def test_the_leases_of_semaphores_are_a_table_at_the_playhead(
    page: Page, cluster: Cluster, complaints: list[str]
) -> None:
    page.goto(f"/clusters/{cluster.pk}/?tab=system&from={START}&to={START + 60}&at={START + 30}")
    page.wait_for_function(READY)
    panel = page.locator("[data-chart=semaphores-now]")
    panel.scroll_into_view_if_needed()
    row = panel.locator("tbody tr")
    expect(row).to_have_count(1)
    assert row.locator("th, td").all_inner_texts() == [HOSTILE, "4", "2", "5", "1.50 s"]
    assert complaints == []


def test_what_differs_between_the_processes_leads_to_the_workers_and_an_event_to_its_moment(
    page: Page, cluster: Cluster, complaints: list[str]
) -> None:
    page.goto(f"/clusters/{cluster.pk}/?tab=system&from={START}&to={START + 60}&at={START + 30}")
    page.wait_for_function(READY)
    table = page.locator("[data-chart=environment]")
    table.scroll_into_view_if_needed()
    first = table.locator("tbody tr").first
    expect(first).to_contain_text("numpy")
    expect(first).to_contain_text("2.1 (1), 2.2 (1)")
    expect(table).to_contain_text("1 difference between the processes.")
    table.get_by_role("button", name="Details of numpy").click()
    table.get_by_role("button", name="w1").click()
    assert page.evaluate("() => { const { model, selection } = observatory.context;"
                         " return model.workers.get(selection.worker).name; }") == "w1"  # fmt: skip
    events = page.locator("[data-chart=event-list]")
    events.scroll_into_view_if_needed()
    row = events.locator("tbody tr", has_text="progress")
    expect(row).to_contain_text(HOSTILE)
    row.get_by_role("button", name="Details").click()
    expect(events.get_by_text('"step": 3')).to_be_visible()
    row.locator(".row-name").click()
    assert page.evaluate("() => observatory.context.timeline.playhead") == START + 20
    assert complaints == []
