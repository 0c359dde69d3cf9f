"""Every chart shows itself as a table and as a CSV file, and those on a canvas as a picture."""

from __future__ import annotations

import csv
import struct
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from observatory.store.connection import read_connection
from tests.support.observed_cluster import FORMULA, HOSTILE, Observed

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

READY = "() => document.documentElement.dataset.ready === '1'"
WITHOUT_TABLE = {"alerts"}
"""the track of alerts: their list has the table"""


@pytest.fixture
def timeline(page: Page, observed: Observed) -> Page:
    page.goto(f"/clusters/{observed.cluster.pk}/")
    page.wait_for_function(READY)
    page.keyboard.press("f")
    return page


def open_menu(panel: Locator) -> None:
    panel.locator(".chart-menu summary").click()


def csv_of(page: Page, panel: Locator) -> list[list[str]]:
    open_menu(panel)
    with page.expect_download() as download:
        panel.get_by_role("button", name="Download CSV").click()
    assert download.value.suggested_filename.endswith(".csv")
    with Path(download.value.path()).open(newline="") as file:
        return list(csv.reader(file))


def test_each_chart_is_a_table_that_the_keyboard_opens_and_closes(
    timeline: Page, complaints: list[str]
) -> None:
    panels = timeline.locator("section.panel:visible").all()
    assert len(panels) > 10
    filled = 0
    for panel in panels:
        name = panel.get_attribute("data-chart")
        summary = panel.locator(".chart-menu summary")
        summary.scroll_into_view_if_needed()
        summary.focus()
        timeline.keyboard.press("Space")
        table = panel.get_by_role("button", name="Show as table")
        if name in WITHOUT_TABLE:
            assert not table.count()
            timeline.keyboard.press("Escape")
            expect(summary).to_be_focused()
            continue
        table.press("Enter")
        dialog = timeline.get_by_role("dialog")
        heading = panel.get_by_role("heading", level=2).inner_text()
        assert heading.startswith(dialog.get_by_role("heading").inner_text()), name
        filled += dialog.locator("tbody tr").count() > 0
        assert dialog.locator("tbody tr, .chart-empty").count(), name
        timeline.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
    assert filled >= 10
    assert complaints == []


def test_the_tables_have_what_was_recorded_and_hostile_keys_are_texts(
    timeline: Page, observed: Observed, complaints: list[str]
) -> None:
    header, *rows = csv_of(timeline, timeline.locator("section[data-chart=progress]"))
    assert header == ["prefix", "done", "erred", "total"]
    done = {row[0]: int(row[1]) for row in rows}
    shown = timeline.evaluate(
        """() => Object.fromEntries(
          observatory.context.playheadState.state.progress.map(row => [row.name, row.done]))"""
    )
    assert FORMULA in shown
    assert done == {f"'{name}" if name == FORMULA else name: count for name, count in shown.items()}
    header, *rows = csv_of(timeline, timeline.locator("section[data-chart=task-stream]"))
    place = {name: number for number, name in enumerate(header)}
    tasks = sum(int(row[place["tasks"]]) for row in rows if row[place["action"]] == "compute")
    with read_connection() as connection:
        query = "SELECT count(*) FROM span WHERE cluster_id = %s AND action = 0 AND status <> 0"
        (failed,) = connection.execute(query, [observed.cluster.pk]).fetchone() or (0,)
    assert failed
    assert tasks == sum(shown.values()) + failed
    assert any(HOSTILE in row[place["key"]] for row in rows)
    assert complaints == []


def test_a_chart_is_saved_as_a_picture_of_its_size(timeline: Page) -> None:
    panel = timeline.locator("section[data-chart=cluster-memory]")
    open_menu(panel)
    with timeline.expect_download() as download:
        panel.get_by_role("button", name="Download PNG").click()
    assert download.value.suggested_filename.startswith("cluster-memory-")
    data = Path(download.value.path()).read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    canvas = panel.locator("canvas").bounding_box()
    assert canvas is not None
    assert width == 2 * round(canvas["width"] + 20)
    assert height > 2 * canvas["height"]


def test_a_list_has_no_picture(timeline: Page) -> None:
    panel = timeline.locator("section[data-chart=progress]")
    open_menu(panel)
    expect(panel.get_by_role("button", name="Download PNG")).to_be_disabled()


def test_a_charts_menu_leads_to_the_form_of_a_rule_on_what_it_shows(
    timeline: Page, observed: Observed, complaints: list[str]
) -> None:
    panel = timeline.locator('section.panel[data-chart="memory"]')
    open_menu(panel)
    panel.get_by_role("link", name="Alert me when this …").click()
    name = timeline.locator("#id_name")
    expect(name).to_have_value("Process memory of a worker, share of its limit")
    expect(timeline.get_by_label("threshold", exact=True).first).to_have_value("90 %")
    expect(timeline.locator("#id_cluster_names")).to_have_value(observed.cluster.name)
    assert complaints == []
