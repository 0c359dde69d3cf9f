"""Opening a timeline: the first rows of the task stream come before everything that is shown beside them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.maintenance.retention import delete_cluster
from observatory.wire.records import Action, Span, WorkerSeen
from tests.support.projects import STARTED, World
from tests.support.tile_urls import layers_of, tiles_of

pytestmark = pytest.mark.browser

BESIDE = ("/state", "/notes", "/alerts")
START = STARTED.timestamp()
READY = "() => document.documentElement.dataset.ready === '1'"


@pytest.fixture
def opened(transactional_db: None, world: World) -> Iterator[str]:
    """The address of an ended cluster with one task."""
    worker = WorkerSeen("tcp://10.0.0.1:9000", "worker-0", "host", 1, 2**30, START)
    span = Span(worker.address, 1, "inc-1", "inc", "inc", Action.COMPUTE, START, START + 5, 8, "int")
    with Writer() as writer:
        writer.write(Batch.of(world.ended.pk, [worker], [span], committed=START + 100))
    yield f"/clusters/{world.ended.pk}/"
    delete_cluster(world.ended.pk)


def beside(urls: list[str]) -> list[str]:
    paths = [url.split("?")[0] for url in urls]
    return sorted({part for path in paths for part in BESIDE if path.endswith(part)})


def levels_of_spans(url: str) -> list[str]:
    places = [name.split("/") for name in tiles_of(url)]
    return [level for layer, level, _ in places if layer == "spans"]


def test_what_is_shown_beside_the_first_rows_is_requested_after_them(page: Page, opened: str) -> None:
    asked: list[str] = []
    held: list[Route] = []
    is_held = True
    page.on("request", lambda request: asked.append(request.url))
    page.route(
        lambda url: "spans" in layers_of(url),
        lambda route: held.append(route) if is_held else route.continue_(),
    )
    page.goto(opened)
    page.wait_for_function("() => window.observatory?.frames > 1")
    assert held
    assert beside(asked) == []
    is_held = False
    for route in held:
        route.continue_()
    page.wait_for_function(READY)
    page.wait_for_function("() => window.observatory.context.playheadState.state")
    assert beside(asked) == sorted(BESIDE)


def test_the_tiles_that_are_requested_first_are_those_that_the_page_draws(page: Page, opened: str) -> None:
    """Without the column beside them the charts would be a third wider, and need finer tiles."""
    levels: set[str] = set()
    page.on("request", lambda request: levels.update(levels_of_spans(request.url)))
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{opened}?from={START}&to={START + 122.4}")
    page.wait_for_function(READY)
    assert page.evaluate("() => window.observatory.view.width") == 848
    assert levels == {"18"}


def test_the_first_rows_are_drawn_before_anything_else_is_requested(page: Page, opened: str) -> None:
    page.add_init_script(
        """window.whenRequested = {};
        const send = window.fetch;
        window.fetch = (url, ...options) => {
          const [path] = String(url).split("?");
          const { view, frames } = window.observatory ?? {};
          window.whenRequested[path.split("/").at(-1)] ??= { rows: view?.tiles.spans?.length ?? 0, frames };
          return send(url, ...options);
        };"""
    )
    page.goto(opened)
    page.wait_for_function(READY)
    page.wait_for_function("() => window.observatory.context.playheadState.state")
    found = page.evaluate("() => window.whenRequested")
    for path in BESIDE:
        assert found[path.strip("/")]["rows"] > 0, (path, found)


def test_what_is_shown_beside_the_first_rows_is_there_though_they_can_not_be_had(
    page: Page, opened: str, complaints: list[str]
) -> None:
    page.route(lambda url: "spans" in layers_of(url), lambda route: route.fulfill(status=500))
    page.goto(opened)
    page.wait_for_function("() => window.observatory?.context?.playheadState.state")
    page.get_by_text("Some data can't be loaded (the server answered 500)").first.wait_for()
    complaints.clear()  # of the browser about these answers


def test_a_tab_without_the_task_stream_has_its_state(page: Page, opened: str) -> None:
    page.goto(f"{opened}?tab=logs")
    page.wait_for_function("() => window.observatory?.context?.playheadState.state")


def test_a_page_on_which_nothing_moves_asks_for_no_frames(page: Page, opened: str) -> None:
    page.add_init_script(
        """window.asked = 0;
        const ask = window.requestAnimationFrame;
        window.requestAnimationFrame = (...options) => { window.asked += 1; return ask(...options); };"""
    )
    page.goto(opened)
    page.wait_for_function(READY)
    page.wait_for_function("() => window.observatory.context.playheadState.state")
    quiet = """async () => {
        const before = window.asked;
        await new Promise((resolve) => setTimeout(resolve, 250));
        return window.asked - before;
    }"""
    asked = [page.evaluate(quiet) for _ in range(10)]  # first, what came last is drawn
    assert asked[-1] == 0, asked
    playhead = page.evaluate("() => window.observatory.view.playhead")
    page.keyboard.press("Home")  # wakes it
    page.wait_for_function("(playhead) => window.observatory.view.playhead < playhead", arg=playhead)
    start = page.evaluate("() => window.observatory.view.start")
    page.keyboard.down("d")
    page.wait_for_function("(start) => window.observatory.view.start > start", arg=start)
    page.keyboard.up("d")
    page.keyboard.press(" ")
    page.wait_for_function("() => window.observatory.context.timeline.playing")
    page.wait_for_function("(start) => window.observatory.view.playhead > start", arg=START)


def test_the_first_rows_are_requested_once_and_before_the_charts_are_built(page: Page, opened: str) -> None:
    page.add_init_script(
        """window.chartsWhenRequested = [];
        const send = window.fetch;
        window.fetch = (url, ...options) => {
          if (String(url).includes("spans")) {
            window.chartsWhenRequested.push(document.querySelectorAll("[data-chart]").length);
          }
          return send(url, ...options);
        };"""
    )
    page.goto(opened)
    page.wait_for_function(READY)
    assert page.evaluate("() => window.chartsWhenRequested") == [0]


@pytest.mark.parametrize(("is_live", "expected"), [(True, ""), (False, "1")])
def test_the_socket_is_connected_at_once_and_that_of_an_ended_cluster_after_the_page_is_drawn(
    page: Page, opened: str, world: World, is_live: bool, expected: str
) -> None:
    page.add_init_script(
        """window.readyWhenConnected = [];
        window.WebSocket = class extends window.WebSocket {
          constructor(...options) {
            super(...options);
            window.readyWhenConnected.push(document.documentElement.dataset.ready ?? "");
          }
        };"""
    )
    page.goto(f"/clusters/{world.live.pk}/" if is_live else opened)
    page.wait_for_function("() => window.readyWhenConnected.length > 0")
    assert page.evaluate("() => window.readyWhenConnected[0]") == expected


def test_a_question_mark_lists_the_keys(page: Page, opened: str) -> None:
    page.goto(opened)
    page.wait_for_function(READY)
    dialog = page.get_by_role("dialog")
    for _ in range(2):
        page.keyboard.press("?")
        expect(dialog.get_by_text("Mouse and keys")).to_be_visible()
        expect(dialog.locator("dt")).not_to_have_count(0)
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Mouse and keys (?)").click()
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)
