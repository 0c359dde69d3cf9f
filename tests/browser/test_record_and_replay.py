"""A cluster is shown live and closed, the server is restarted, and the run is replayed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from distributed import Client, LocalCluster
from playwright.sync_api import Page

from tests.browser.observatory import Observatory
from tests.browser.recorder import Recorder, Recording

pytestmark = pytest.mark.browser

SCRAPED = 2.5
"""seconds between two scrapes"""
INSTANT = """async at => {
  const { timeline, playheadState } = window.observatory.context;
  timeline.setPlayhead(at);
  const deadline = Date.now() + 60000;
  while (Date.now() < deadline) {
    const state = playheadState.state;
    if (state && Math.abs(state.at - at) < 1e-3) return state;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  throw new Error(`no state arrived for ${at}`);
}"""


@pytest.fixture
def cluster() -> Iterator[tuple[LocalCluster, Client, Recording]]:
    recording = Recording()
    with (
        LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        cluster.sync(_record, cluster, recording)
        yield cluster, client, recording


async def _record(cluster: LocalCluster, recording: Recording) -> None:
    cluster.scheduler.add_plugin(Recorder(recording, cluster.scheduler))


def _work(client: Client, seconds: float) -> list[float]:
    """Run three phases with growing memory, GIL contention and a failing task; returns their end times."""

    def grow(size: int) -> bytes:
        return b"x" * size  # zeros would not be resident

    def spin(duration: float, number: int) -> int:
        stop = time.monotonic() + duration
        while time.monotonic() < stop:
            number += 1
        return number

    def fail(number: int) -> None:
        raise ValueError(number)

    moments = []
    held = []
    for phase in range(3):
        held += client.map(grow, [10_000_000 + phase * 100 + number for number in range(8)])
        assert client.submit(fail, phase).exception()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            client.gather(client.map(spin, [0.05] * 8, range(8), pure=False))
            client.gather(client.map(time.sleep, [0.1] * 12, pure=False))
        moments.append(time.time())
    return moments


def _state_at(page: Page, at: float) -> dict[str, Any]:
    state = page.evaluate(INSTANT, at)
    assert isinstance(state, dict)
    return state


def _sampled(observatory: Observatory, address: str, metric: str, at: float) -> list[float]:
    """Return when the newest samples of a worker's metric until `at` were taken, latest first."""
    rows = observatory.rows(
        f"""SELECT DISTINCT extract(epoch FROM time)::float8 FROM sample
            JOIN series ON series.id = series_id JOIN worker ON worker.id = series.worker_id
            WHERE metric = '{metric}' AND address = '{address}' AND time <= to_timestamp({at})
            ORDER BY 1 DESC LIMIT 2"""
    )
    return [time for (time,) in rows]


def _agrees(
    observatory: Observatory, worker: dict[str, Any], recording: Recording, address: str, at: float
) -> None:
    """Check a worker's shown values against its heartbeats at the times of its samples.

    On a loaded machine scrapes and heartbeats are late, so only the samples' own times are certain.
    """
    [newest, _] = _sampled(observatory, address, "observatory_worker_memory_bytes", at)
    beats = recording.heartbeats_between(address, newest - SCRAPED, newest + 1)
    for name in ("memory", "managed"):
        values = [getattr(beat, name) for beat in beats]
        assert 0.97 * min(values) <= worker[name] <= 1.03 * max(values), (name, at, newest, worker, beats)
    [newest, before] = _sampled(observatory, address, "dask_worker_gil_contention_seconds_total", at)
    ratios = [beat.gil for beat in recording.heartbeats_between(address, before - SCRAPED, newest + 1)]
    assert min(ratios) - 0.1 <= worker["gil"] <= max(ratios) + 0.1, (at, newest, before, worker, ratios)


def test_a_run_is_shown_live_and_replayed_exactly_after_cluster_and_server_are_gone(
    observatory: Observatory, page: Page, cluster: tuple[LocalCluster, Client, Recording]
) -> None:
    dask, client, recording = cluster
    observatory.start()
    observatory.watch(dask.dashboard_link.removesuffix("/status"), "story")
    assert observatory.rows(f"UPDATE clusters_target SET metrics_interval = {SCRAPED} RETURNING id")
    observatory.sign_in(page)

    page.goto(f"{observatory.url}/clusters/")
    page.get_by_role("link", name="story").first.click()
    page.wait_for_function("() => window.observatory?.context?.timeline.live === true")
    moments = _work(client, seconds=2.5 * SCRAPED)
    time.sleep(2)
    live_done = page.evaluate(
        "() => window.observatory.context.playheadState.state.progress.map(row => row.done)"
    )
    assert sum(live_done) > 0

    address = page.url.split("?")[0]
    client.close()
    dask.close()
    page.get_by_text("ended", exact=False).first.wait_for()

    observatory.stop()
    observatory.start()
    page.goto(address)
    page.wait_for_function("() => document.documentElement.dataset.ready === '1'")
    workers = page.evaluate("() => [...window.observatory.context.model.workers.values()]")
    addresses = {worker["id"]: worker["address"] for worker in workers}
    for at in moments:
        state = _state_at(page, at)
        assert sum(row["done"] for row in state["progress"]) == recording.done_at(at)
        assert len(state["workers"]) == len(recording.heartbeats) == 2
        for worker in state["workers"]:
            _agrees(observatory, worker, recording, addresses[worker["id"]], at)
    stored = observatory.query("select count(*) from span")
    assert stored == len(recording.spans)
