"""Labels of workers: marks and filter of the lanes, and the comparison of workers within a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from observatory.exchange.formats import FORMATS
from observatory.runs.models import Permalink, Run
from observatory.runs.sharing.links import make_link
from observatory.runs.sharing.scopes import scope_of_link, scope_of_run
from observatory.store.maintenance.retention import delete_cluster
from tests.comparison.made_workers import Worker, make_run, version
from tests.support.projects import HOSTILE, World

pytestmark = [pytest.mark.django_db(transaction=True)]

LABEL = ".lane-controls select[name='label']"
SORT = ".lane-controls label:has-text('Sort') select"


@pytest.fixture
def run(transactional_db: None, world: World) -> Iterator[Run]:
    workers = [
        version("2026.10"),
        version("2026.11", factor=1.4),
        version("2026.10"),
        version("2026.11", factor=1.4),
        Worker(labels={"version": HOSTILE}, resources={"GPU": 2}),
    ]
    yield make_run(world.ended, workers)
    delete_cluster(world.ended.pk)


@pytest.mark.browser
def test_a_label_marks_the_lanes_and_its_values_are_a_filter_that_the_address_keeps(
    page: Page, run: Run, complaints: list[str]
) -> None:
    page.goto(f"/runs/{run.pk}/")
    page.wait_for_selector("html[data-ready='1']")
    label = page.locator(LABEL)
    assert label.locator("option").all_inner_texts() == ["none", "host", "resource GPU", "version"]
    assert page.locator(".lane-labels").is_hidden()
    label.select_option("version")
    values = page.locator(".lane-labels button")
    expect(values).to_have_count(3)
    shown = values.evaluate_all("buttons => buttons.map(({ dataset }) => dataset.value)")
    assert shown == ["2026.10", "2026.11", HOSTILE]
    values.nth(1).focus()
    page.keyboard.press("Enter")
    expect(values.nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".task-stream canvas").first).to_have_attribute(
        "aria-label", "Task stream: 4 rows of 2 workers"
    )
    assert page.evaluate("document.activeElement.dataset.value") == "2026.11"
    page.wait_for_url("**label=version&value=2026.11**")
    page.reload()
    page.wait_for_selector("html[data-ready='1']")
    expect(page.locator(".task-stream canvas").first).to_have_attribute(
        "aria-label", "Task stream: 4 rows of 2 workers"
    )
    page.locator(".lane-labels button").nth(1).click()
    expect(page.locator(".task-stream canvas").first).to_have_attribute(
        "aria-label", "Task stream: 10 rows of 5 workers"
    )
    page.locator(SORT).select_option("label")
    page.locator(".lane-labels a").click()
    page.wait_for_url(f"**/runs/{run.pk}/compare-workers/?label=version")
    assert complaints == []


@pytest.mark.browser
def test_two_values_are_chosen_and_compared(page: Page, run: Run, complaints: list[str]) -> None:
    page.goto(f"/runs/compare/?a={run.pk}")
    page.get_by_role("link", name="Compare workers within this run").click()
    form = page.locator("[data-label='version']")
    form.locator("[name=a]").select_option("2026.11")
    form.locator("[name=b]").select_option("2026.10")
    form.get_by_role("button", name="Compare").click()
    page.wait_for_url("**label=version&a=2026.11&b=2026.10")
    page.wait_for_selector("html[data-ready='1']")
    finding = page.locator(".finding").inner_text()
    assert "A: 2 workers with 4 threads" in finding
    assert "clean is slower by 40 %" in finding
    table = page.locator("[data-section='figures'] [data-figure='Workers'] td").all_inner_texts()
    assert table[:3] == ["Workers", "2", "2"]
    page.wait_for_selector(".compare-plots[data-drawn='true']")
    streams = page.locator("[data-stream] canvas[aria-label^='Task stream']")
    assert [streams.nth(at).get_attribute("aria-label") for at in range(2)] == [
        "Task stream: 4 rows of 2 workers"
    ] * 2
    page.get_by_role("link", name="Swap A and B").click()
    page.wait_for_selector("html[data-ready='1']")
    assert "clean is faster" in page.locator(".finding").inner_text()
    assert complaints == []
    page.goto(f"/runs/{run.pk}/compare-workers/?label=version&a={HOSTILE}&b=9")
    page.wait_for_selector("html[data-ready='1']")
    assert "No worker of this run has '9' as 'version'" in page.locator("#comparison").inner_text()


@pytest.mark.browser
def test_a_public_link_shows_no_labels_and_all_lanes_whatever_its_address_says(
    page: Page, run: Run, world: World
) -> None:
    link = make_link(Permalink(run=run, audience="anyone"), world.people["owner"])
    page.goto(f"/r/{link.token}?label=version&value=2026.11")
    page.wait_for_selector("html[data-ready='1']")
    expect(page.locator(".task-stream canvas").first).to_have_attribute(
        "aria-label", "Task stream: 10 rows of 5 workers"
    )
    assert page.locator(LABEL).locator("option").all_inner_texts() == ["none", "host"]
    lanes = page.request.get(f"/api/v1/r/{link.token}/lanes").text()
    assert "2026.11" not in lanes
    assert "GPU" not in lanes


@pytest.mark.browser
def test_a_file_of_the_run_has_its_labels_and_one_of_a_public_link_has_none(
    page: Page,
    run: Run,
    world: World,
    tmp_path: Path,
    complaints: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("observatory.exchange.formats.report_instants.MOST_INSTANTS", 2)
    link = make_link(Permalink(run=run, audience="anyone"), world.people["owner"])
    options, rows = ["none", "host", "resource GPU", "version"], "4 rows of 2 workers"
    for scope, labels, shown in (
        (scope_of_run(run), options, rows),
        (scope_of_link(link), options[:2], "10 rows of 5 workers"),
    ):
        file = tmp_path / f"{len(labels)}.html"
        with file.open("wb") as out:
            FORMATS["html"].write(scope, run.name, out, lambda done: None)
        page.goto(f"{file.as_uri()}?label=version&value=2026.11")
        page.wait_for_selector("html[data-ready='1']")
        assert page.locator(LABEL).locator("option").all_inner_texts() == labels
        expect(page.locator(".task-stream canvas").first).to_have_attribute(
            "aria-label", f"Task stream: {shown}"
        )
        assert page.locator(".lane-labels a").count() == 0, "a file leads nowhere"
    assert complaints == []


def test_what_can_not_be_compared_says_what_to_do(world: World) -> None:
    same = make_run(world.ended, [version("a")], seconds=2)
    page = world.client("viewer").get(f"/runs/{same.pk}/compare-workers/").content.decode()
    assert "The workers don&#x27;t differ" in page or "The workers don't differ" in page
    assert 'version <span class="tag">a</span>' in page
    assert "OBSERVATORY_LABELS" in page
    delete_cluster(world.ended.pk)
    nobody = world.client("viewer").get(f"/runs/{world.run.pk}/compare-workers/").content.decode()
    assert "No worker was recorded in this run." in nobody
    for path in ("", "?label=version&a=a&b=b"):
        answer = world.client("outsider").get(f"/runs/{world.run.pk}/compare-workers/{path}")
        assert answer.status_code == 404
