"""Comparing runs, and the history of a name, as pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from observatory.pages.comparison.views import PAGE_SIZE
from observatory.runs.models import Run
from observatory.store.maintenance.retention import delete_cluster
from observatory.store.times import from_seconds
from tests.comparison.made_runs import DETAIL, START, make_run
from tests.support.projects import HOSTILE, World
from tests.support.stored_findings import finding, keep

pytestmark = pytest.mark.django_db(transaction=True)

USUAL = {"load": 0.2, "clean": 0.3, "store": 0.1}


@pytest.fixture
def pair(transactional_db: None, world: World) -> Iterator[tuple[Run, Run]]:
    """A run with `clean` slower by a fifth, on another machine, of another commit; and the one before it."""
    before = make_run(world.ended, 0, USUAL, tags={"git": "3f2a1c", "data": "small"})
    other_machine = {**DETAIL, "machine": ["m5.xlarge"]}
    tags = {"git": "9c81d0", "data": "small"}
    slower = make_run(world.ended, 100, {**USUAL, "clean": 0.36}, tags=tags, detail=other_machine)
    yield slower, before
    delete_cluster(world.ended.pk)


def make_history(world: World, lengths: list[float], name: str = "etl") -> list[Run]:
    """A run a day, of so many seconds; the commit changed with the seventh."""
    runs = []
    for day, seconds in enumerate(lengths):
        start = from_seconds(START) + timedelta(days=day)
        runs.append(
            Run.objects.create(
                cluster=world.ended,
                name=name,
                origin=Run.Origin.CODE,
                outcome=Run.Outcome.FINISHED,
                start=start,
                stop=start + timedelta(seconds=seconds),
                tags={"git": "3f2a1c" if day < 6 else "9c81d0", "data": "small"},
            )
        )
    return runs


SLOWER_SINCE_THE_SEVENTH = [100.0, 101, 99, 100, 102, 100, 122, 121, 123, 122, 180, 121]


def test_without_parameters_runs_are_offered_and_then_those_of_its_name(
    world: World, pair: tuple[Run, Run]
) -> None:
    a, b = pair
    client = world.client("viewer")
    offered = client.get("/runs/compare/").content.decode()
    assert f"?a={a.pk}" in offered
    chosen = client.get(f"/runs/compare/?a={a.pk}").content.decode()
    assert "Runs with the same name" in chosen
    assert f"?a={a.pk}&amp;b={b.pk}" in chosen
    assert f"?a={a.pk}&amp;last=1" in chosen


@pytest.mark.parametrize("query", ["a=x", "a=1&b=-1", "a=999999999&b=1", "a={a}&b=999999999", "a={b}&last=3"])
def test_runs_that_are_not_there_are_not_found(world: World, pair: tuple[Run, Run], query: str) -> None:
    a, b = pair
    answer = world.client("viewer").get(f"/runs/compare/?{query.format(a=a.pk, b=b.pk)}")
    assert answer.status_code == 404


def test_who_is_no_member_compares_nothing(world: World, pair: tuple[Run, Run]) -> None:
    a, b = pair
    for path in (
        f"/runs/compare/?a={a.pk}&b={b.pk}",
        f"/api/v1/runs/compare?a={a.pk}&b={b.pk}",
        "/runs/history/?name=etl&project=alpha",
    ):
        answer = world.client("outsider").get(path)
        assert answer.status_code == 404
        assert b"etl" not in answer.content


def test_the_history_names_the_change_and_the_tag_that_changed_with_it(world: World) -> None:
    runs = make_history(world, SLOWER_SINCE_THE_SEVENTH)
    page = world.client("viewer").get("/runs/history/?name=etl&project=alpha").content.decode()
    assert page.count("data-change=") == 1
    assert f'data-change="{runs[6].pk}"' in page
    assert "slower by 22 %" in page
    assert "git 9c81d0" in page
    assert "(before: 3f2a1c)" in page
    assert f"?a={runs[6].pk}&amp;b={runs[5].pk}" in page


def test_the_chart_of_a_history_has_all_runs_and_its_table_a_page_of_them(world: World) -> None:
    runs = make_history(world, [100.0 + number for number in range(PAGE_SIZE + 3)])
    client = world.client("viewer")
    first, second = (
        client.get(f"/runs/history/?name=etl&project=alpha&page={number}").content.decode()
        for number in (1, 2)
    )
    [points] = re.findall(r'<script id="history-points" type="application/json">(.*?)</script>', first)
    assert [point["run"] for point in json.loads(points)] == [run.pk for run in runs]
    assert points in second
    assert [page.count('<td data-label="Outcome">') for page in (first, second)] == [PAGE_SIZE, 3]
    assert f"{PAGE_SIZE + 1}–{PAGE_SIZE + 3} of {PAGE_SIZE + 3}" in second


def test_a_history_without_runs_is_not_found(world: World) -> None:
    for query in ("name=nothing&project=alpha", "name=etl&project=nothing", ""):
        assert world.client("viewer").get(f"/runs/history/?{query}").status_code == 404


@pytest.mark.browser
def test_the_page_names_the_slowed_prefix_first_and_what_differs(page: Page, pair: tuple[Run, Run]) -> None:
    a, b = pair
    page.goto(f"/runs/compare/?a={a.pk}&b={b.pk}")
    page.wait_for_selector("html[data-ready='1']")
    finding = page.locator(".finding").inner_text()
    assert "clean is slower by 20 %" in finding
    assert "git: 3f2a1c → 9c81d0" in finding
    assert "machine: m5.large → m5.xlarge" in finding
    rows = page.locator("[data-section='prefixes'] tbody tr")
    assert [rows.nth(at).get_attribute("data-verdict") for at in range(3)] == ["slower", "", ""]
    assert rows.nth(0).get_attribute("data-prefix") == "clean"
    machine = page.locator("[data-section='differences'] > div > table [data-fact='machine']")
    assert machine.locator("td").all_inner_texts()[1:] == ["m5.xlarge", "m5.large"]
    page.wait_for_selector(".compare-plots[data-drawn='true']")
    assert page.locator("[data-stream] canvas").count() == 2
    colors = page.locator("[data-color-of='clean'], .stream-legend button:text-is('clean') i").evaluate_all(
        "swatches => swatches.map(swatch => getComputedStyle(swatch).backgroundColor)"
    )
    assert len(colors) >= 3
    assert len(set(colors)) == 1, "a prefix has the same colour in both runs and in the tables"
    # what is zoomed into is the same of both
    page.locator("[data-stream='a'] canvas").dblclick(position={"x": 600, "y": 20})
    page.wait_for_selector(".compare-plots[data-drawn='true']")


@pytest.mark.browser
def test_the_page_says_which_findings_are_new_gone_or_cost_more(page: Page, pair: tuple[Run, Run]) -> None:
    a, b = pair
    new = finding("gil", 90, "clean", sentence=f"Tasks of {HOSTILE} hold the GIL.")
    keep(a, new, finding("idle", 30))
    keep(b, finding("idle", 3), finding("transfers", 5))
    page.goto(f"/runs/compare/?a={a.pk}&b={b.pk}")
    page.wait_for_function("() => document.documentElement.dataset.ready === '1'")
    section = page.locator("[data-section=findings]")
    items = section.get_by_role("listitem").all_inner_texts()
    assert [item.split(" ")[0] for item in items] == ["new", "costs", "gone"]
    assert HOSTILE in items[0]
    assert "A: 30.0 s of threads, B: 3.00 s of threads" in items[1]
    expect(section.get_by_role("link", name="hold the GIL")).to_have_attribute(
        "href", f"/runs/{a.pk}/?tab=why"
    )
    expect(section.get_by_role("link", name="transfers of all")).to_have_attribute(
        "href", f"/runs/{b.pk}/?tab=why"
    )


def test_the_page_says_which_run_was_not_looked_at(page: Page, pair: tuple[Run, Run]) -> None:
    a, b = pair
    keep(b, state="too-large")
    page.goto(f"/runs/compare/?a={a.pk}&b={b.pk}")
    expect(page.locator("[data-section=findings]")).to_contain_text(
        "Nothing can be compared: A wasn't looked at yet, B is too large to look at."
    )


def test_hostile_names_run_nothing_and_break_no_policy(
    page: Page, world: World, transactional_db: None, complaints: list[str]
) -> None:
    detail = {"versions": {HOSTILE: HOSTILE}, "machine": [HOSTILE]}
    one = make_run(world.ended, 0, {HOSTILE: 0.1}, name=HOSTILE, tags={HOSTILE: HOSTILE}, detail=detail)
    other = make_run(world.ended, 50, {HOSTILE: 0.2}, name=HOSTILE)
    page.goto(f"/runs/compare/?a={other.pk}&b={one.pk}")
    page.wait_for_selector(".compare-plots[data-drawn='true']")
    assert page.get_by_text(HOSTILE).count()
    page.goto(f"/runs/compare/?a={one.pk}")
    page.goto(f"/runs/history/?name={HOSTILE}&project=alpha")
    page.wait_for_selector("[data-history] canvas[data-drawn]")
    assert page.locator('img[src="x"]').count() == 0
    assert complaints == []
    delete_cluster(world.ended.pk)


@pytest.mark.browser
def test_a_point_of_the_history_leads_to_its_run(page: Page, world: World) -> None:
    runs = make_history(world, SLOWER_SINCE_THE_SEVENTH)
    page.goto("/runs/history/?name=etl&project=alpha")
    canvas = page.locator("[data-history] canvas")
    page.wait_for_selector("[data-history] canvas[data-drawn='12']")
    assert "slower by 22 % since" in (canvas.get_attribute("aria-label") or "")
    box = canvas.bounding_box()
    assert box is not None
    # the last point lies at the right end, between no change and the highest run
    for height in range(30, 270, 6):
        canvas.hover(position={"x": box["width"] - 24, "y": height})
        if page.locator(".tooltip:visible").count():
            canvas.click(position={"x": box["width"] - 24, "y": height})
            break
    page.wait_for_url(f"**/runs/{runs[-1].pk}/")


@pytest.mark.browser
def test_the_pages_fit_a_phone(page: Page, world: World, pair: tuple[Run, Run]) -> None:
    a, b = pair
    page.set_viewport_size({"width": 390, "height": 844})
    for path in (
        f"/runs/compare/?a={a.pk}&b={b.pk}",
        f"/runs/compare/?a={a.pk}",
        "/runs/history/?name=etl&project=alpha",
    ):
        page.goto(path)
        if "b=" in path:
            page.wait_for_selector(".compare-plots[data-drawn='true']")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
