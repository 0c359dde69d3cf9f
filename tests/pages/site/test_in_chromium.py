"""The pages as a real browser shows them: within the policy, the screen and the theme."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import Page

from observatory.clusters.models import Cluster, Discovery, Target
from tests.support.projects import HOSTILE, World, store_extent

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BACKGROUND = "() => getComputedStyle(document.documentElement).backgroundColor"


def test_no_page_breaks_the_policy_and_hostile_names_run_nothing(
    page: Page, world: World, complaints: list[str]
) -> None:
    Target.objects.update(name=HOSTILE, last_error=HOSTILE)
    Cluster.objects.update(name=HOSTILE, address=HOSTILE)
    fields = {"name": HOSTILE, "kind": HOSTILE[:20], "address": HOSTILE, "error": HOSTILE}
    discovery = Discovery.objects.create(project=world.alpha, looked=timezone.now(), **fields)
    Target.objects.update(discovery=discovery)
    admin = "/admin/clusters"
    for path in (
        "/clusters/",
        "/targets/",
        f"/targets/{world.target.pk}/",
        f"/targets/discoveries/{discovery.pk}/",
        f"/targets/discoveries/{discovery.pk}/remove/",
        "/projects/",
        "/projects/alpha/",
        "/account/password/",
        "/admin/",
        f"{admin}/target/",
        f"{admin}/target/add/",
        f"{admin}/target/{world.target.pk}/change/",
        f"{admin}/discovery/",
        f"{admin}/discovery/add/",
        f"{admin}/project/{world.alpha.pk}/change/",
        f"{admin}/cluster/",
        f"{admin}/cluster/{world.ended.pk}/delete/",
        f"/admin/auth/user/{world.people['viewer'].pk}/change/",
    ):
        page.goto(path)
        assert page.get_by_role("heading").count()
        assert page.locator('img[src="x"]').count() == 0
    assert complaints == []


DRAW = """async ([plotly, layout]) => {
  const { loadPlotly, config } = await import(plotly);
  const element = document.body.appendChild(document.createElement("div"));
  const trace = { type: "bar", orientation: "h", x: [3, 5], y: ["inc", "sum"], text: ["3", "5"] };
  await (await loadPlotly()).react(element, [trace], layout, config);
  return [...element.querySelectorAll(".main-svg")].map(svg => getComputedStyle(svg).position);
}"""


def test_what_the_timeline_needs_first_is_asked_for_at_once_and_once(page: Page, world: World) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.split("?")[0]))
    page.goto(f"/clusters/{world.ended.pk}/")
    page.wait_for_function("() => document.documentElement.dataset.ready === '1'")
    questions = page.locator("link[rel=preload]").evaluate_all("links => links.map(link => link.href)")
    assert [asked.count(question) for question in questions] == [1, 1]


def test_plotly_draws_within_the_policy_of_the_pages_that_use_it(page: Page, complaints: list[str]) -> None:
    page.goto("/admin/alerts/rule/add/")
    module = f"{settings.STATIC_URL}frontend/charts/drawing/plotly.js"
    positions = page.evaluate(DRAW, [module, {"width": 400, "height": 200, "title": {"text": "tasks"}}])
    assert set(positions) == {"absolute"}, "its own style rules aren't in force"
    assert complaints == []


def test_every_page_fits_a_phone(page: Page, world: World) -> None:
    world.live.name = "x" * 100
    world.live.save()
    fields = {"name": "x" * 100, "address": f"http://{'x' * 200}/", "warning": "x" * 300}
    Discovery.objects.create(project=world.alpha, kind="http_sd", **fields)
    page.set_viewport_size({"width": 390, "height": 844})
    paths = ("/clusters/", "/targets/", "/targets/discoveries/add/", "/projects/", "/projects/alpha/")
    for path in (*paths, "/account/password/", "/nope/"):
        page.goto(path)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390, path


def test_the_theme_follows_the_system_until_one_is_chosen_and_then_stays(page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto("/clusters/")
    dark = page.evaluate(BACKGROUND)
    page.emulate_media(color_scheme="light")
    page.wait_for_function(f"dark => ({BACKGROUND})() !== dark", arg=dark)
    page.get_by_role("button", name="Theme: automatic").click()
    page.get_by_role("button", name="Theme: light").click()
    assert page.evaluate(BACKGROUND) == dark
    page.goto("/targets/")
    assert page.evaluate(BACKGROUND) == dark
    assert page.get_by_role("button", name="Theme: dark").is_visible()


def test_an_open_list_shows_what_is_new_by_itself(page: Page, world: World) -> None:
    page.goto("/clusters/?state=ended")
    assert page.get_by_role("link", name="morning").count() == 0
    world.live.ended = world.live.last_seen
    world.live.save()
    store_extent(world.live, tasks=4321)
    page.get_by_role("link", name="morning").wait_for()
    assert "4,321" in page.locator("#rows").inner_text()


def test_the_keyboard_reaches_the_content_and_shows_where_it_is(page: Page) -> None:
    page.goto("/clusters/")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    assert skip.evaluate("element => element === document.activeElement")
    assert skip.evaluate("element => element.getBoundingClientRect().top") >= 0
    page.keyboard.press("Tab")
    style = "() => getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(style) == "solid"


def test_overview_transport_and_time_axis_stay_in_sight_when_the_page_scrolls(
    page: Page, world: World
) -> None:
    page.goto(f"/clusters/{world.ended.pk}/")
    page.wait_for_function("() => document.documentElement.dataset.ready === '1'")
    for width, height in ((1600, 500), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        assert page.evaluate("scrollY") > 100
        for part in (".overview", ".transport", ".time-axis canvas"):
            box = page.locator(part).bounding_box()
            assert box is not None
            assert 0 <= box["y"] < height / 2 - box["height"], part
        left = page.locator(".time-axis canvas").evaluate("canvas => canvas.getBoundingClientRect().left")
        assert left == page.locator(".plots").evaluate("plots => plots.getBoundingClientRect().left")
    assert "Time axis: " in (page.locator(".time-axis canvas").get_attribute("aria-label") or "")


def test_the_timeline_fits_a_phone_when_loaded_and_when_the_window_becomes_narrower(
    page: Page, world: World
) -> None:
    page.goto(f"/clusters/{world.ended.pk}/")
    page.wait_for_function("() => document.documentElement.dataset.ready === '1'")
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function("() => document.documentElement.scrollWidth <= 390")
    page.reload()
    page.wait_for_function("() => document.documentElement.dataset.ready === '1'")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
