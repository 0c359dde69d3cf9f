"""Sharing a run, in a real browser: a public link is made, opened without a session, replayed, revoked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page

from observatory.clusters.models import Cluster
from observatory.runs.models import Run
from tests.support.chromium import TIMEOUT
from tests.support.projects import HOSTILE, World
from tests.support.recorded_cluster import START, Recorded, at

READY = "() => document.documentElement.dataset.ready === '1'"


@pytest.fixture
def reported(world: World, recorded: Recorded) -> Cluster:
    """A cluster of a minute that did a task each second."""
    worker = "tcp://10.0.0.1:4000"
    recorded.worker(worker, "w0")
    for second in range(-20, 40):
        recorded.span(f"load-{second}", worker, second, second + 0.8)
    world.ended.started, world.ended.ended = at(-60), at(60)
    world.ended.save()
    return world.ended


@pytest.fixture
def shared(reported: Cluster) -> Run:
    """Ten seconds of it."""
    return Run.objects.create(
        cluster=reported,
        name=HOSTILE,
        origin="cut",
        start=at(0),
        stop=at(10),
        tasks=10,
        counted=timezone.now(),
        outcome="finished",
    )


@pytest.fixture
def visitor(chromium: Browser, live_server: Any) -> Iterator[Page]:
    """A page of somebody who never signed in, on a phone."""
    context = chromium.new_context(base_url=live_server.url, viewport={"width": 390, "height": 844})
    context.set_default_timeout(TIMEOUT)
    yield context.new_page()
    context.close()


def test_a_run_is_shared_replayed_by_somebody_without_an_account_and_taken_back(
    page: Page, visitor: Page, reported: Cluster, complaints: list[str]
) -> None:
    page.goto(f"/clusters/{reported.pk}/?from={START}&to={START + 10}")
    page.wait_for_function(READY)
    page.keyboard.press("r")
    page.get_by_role("dialog").get_by_label("Name").fill(HOSTILE)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("link", name=f"Open {HOSTILE}").click()
    page.wait_for_url("**/runs/*/**")
    page.goto(f"{page.url.split('?')[0]}?from={START + 2}&to={START + 8}&at={START + 4}&speed=2")
    page.wait_for_function(READY)
    page.get_by_role("link", name="Share").click()
    page.get_by_label("anyone with the link").check()
    page.get_by_role("button", name="Create link").click()
    url = page.locator("[data-made] [data-field=url]").inner_text()

    visitor.goto(url)
    visitor.wait_for_function(READY)
    seen = visitor.evaluate(
        """() => { const { timeline, info, model } = window.observatory.context; return {
             first: info.first, last: info.last, start: timeline.start, playhead: timeline.playhead,
             speed: timeline.speed, name: info.name, live: timeline.live }; }"""
    )
    assert seen["first"] == START
    assert seen["last"] == START + 10
    assert (seen["start"], seen["playhead"], seen["speed"]) == (START + 2, START + 4, 2)
    assert seen["name"] == HOSTILE
    visitor.get_by_role("button", name="Play").click()
    visitor.wait_for_function(f"() => window.observatory.context.timeline.playhead > {START + 5}")
    assert visitor.get_by_role("heading", name="Profile").count() == 0
    assert visitor.get_by_role("link", name="Logs").count() == 0

    page.reload()
    assert "1×" in page.locator("[data-links]").inner_text()
    page.get_by_role("button", name="Revoke").click()
    answer = visitor.goto(url)
    assert answer is not None
    assert answer.status == 404
    assert visitor.get_by_text("is no longer valid").is_visible()
    assert complaints == []


def test_the_links_page_tells_a_viewer_who_may_share(page: Page, shared: Run, world: World) -> None:
    answer = world.client("viewer").get(f"/runs/{shared.pk}/links/")
    assert b"Editors and owners of the project can create links" in answer.content
    assert b"Create link</button>" not in answer.content


def test_an_open_run_shows_what_is_new_without_a_socket(page: Page, shared: Run, recorded: Recorded) -> None:
    Run.objects.update(stop=None, outcome="running")
    shared.cluster.ended = None
    shared.cluster.save()
    page.goto(f"/runs/{shared.pk}/")
    page.wait_for_function(READY)
    count = "() => window.observatory.context.playheadState.state?.totals.tasks ?? 0"
    before = page.evaluate(count)
    last = page.evaluate("() => window.observatory.context.info.last")
    for second in range(40, 60):
        recorded.span(f"load-{second}", "tcp://10.0.0.1:4000", second, second + 0.8)
    page.wait_for_function(f"() => window.observatory.context.info.last > {last}", timeout=120_000)
    page.evaluate(f"() => window.observatory.context.timeline.setPlayhead({START + 61})")
    page.wait_for_function(f"before => ({count})() >= before + 20", arg=before, timeout=120_000)
