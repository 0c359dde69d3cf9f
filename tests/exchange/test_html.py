"""A run's own file: opened from disk in a browser that reaches nothing, it shows and replays the run."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from observatory.exchange.formats import FORMATS
from observatory.exchange.formats.report import report_of
from observatory.replay.scope import Scope
from observatory.runs.refresh import refresh_figures
from observatory.runs.sharing.scopes import scope_of_run
from tests.support.chromium import TIMEOUT
from tests.support.observed_cluster import HOSTILE, Observed
from tests.support.stored_alerts import make_alert

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = pytest.mark.browser

INK = """() => {
  const canvas = document.querySelector(".task-stream canvas") ?? document.querySelector("main canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let ink = 0;
  for (let at = 3; at < data.length; at += 4) ink += data[at] > 0;
  return ink;
}"""
DONE = """at => new Promise((resolve) => {
  const { timeline, playheadState } = window.observatory.context;
  timeline.setPlayhead(at);
  setTimeout(() => resolve(playheadState.state.progress.map(row => [row.name, row.done])), 1200);
})"""


def report(scope: Scope, title: str = "a run") -> bytes:
    file = io.BytesIO()
    FORMATS["html"].write(scope, title, file, lambda done: None)
    return file.getvalue()


@pytest.fixture
def alone(chromium: Browser) -> Iterator[tuple[Page, list[str], list[str]]]:
    """A page without a network, the requests that it makes, and what goes wrong on it."""
    context = chromium.new_context(viewport={"width": 1600, "height": 1000}, offline=True)
    context.set_default_timeout(TIMEOUT)
    page = context.new_page()
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append("a dialog opened"), dialog.dismiss()))
    page.on(
        "console",
        lambda message: complaints.append(message.text) if message.type == "error" else None,
    )
    yield page, asked, complaints
    context.close()


@pytest.fixture
def few_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that don't replay: the states at 300 instants take seconds to read."""
    monkeypatch.setattr("observatory.exchange.formats.report_instants.MOST_INSTANTS", 10)


def test_the_file_of_a_run_replays_it_from_disk_and_asks_for_nothing(
    observed: Observed, alone: tuple[Page, list[str], list[str]], tmp_path: Path
) -> None:
    page, asked, complaints = alone
    file = tmp_path / "run.html"
    file.write_bytes(report(scope_of_run(observed.run)))
    page.goto(file.as_uri())
    page.wait_for_function("() => document.documentElement.dataset.ready === '1'")
    assert page.evaluate(INK) > 5_000
    spans = observed.received.rows["span"]
    middle = sorted(row["stop"] for row in spans)[len(spans) // 2]
    info: dict[str, Any] = page.evaluate("() => window.observatory.context.info")
    first, at_middle, last = (dict(page.evaluate(DONE, at)) for at in (info["first"], middle, info["ended"]))
    slow = [row for row in spans if row["key"].startswith("sum_slowly") and row["action"] == 0]
    assert sum(first.values()) < sum(at_middle.values()) < sum(last.values())
    assert last["sum_slowly"] == len(slow)

    page.evaluate("at => window.observatory.context.timeline.setPlayhead(at)", info["first"] + 0.5)
    page.get_by_role("button", name="Play", exact=False).first.click()
    page.wait_for_function("at => window.observatory.context.timeline.playhead > at", arg=info["first"] + 1.0)
    page.get_by_role("link", name="Tasks", exact=True).click()
    row = page.get_by_role("row").filter(has_text="sum_slowly")
    expect(row.locator(".duration-bars")).to_have_attribute("aria-label", re.compile(f"^{len(slow)} tasks"))
    page.get_by_role("button", name="Details of sum_slowly").click()
    expect(page.get_by_role("table", name="slowest tasks").locator("tbody tr")).to_have_count(
        min(len(slow), 20)
    )
    expect(page.get_by_text("of the whole run, not of the window")).to_be_visible()
    page.get_by_role("link", name="Logs", exact=True).click()
    lines = page.locator("[data-chart=logs] tr[data-line]")
    expect(lines.first).to_be_visible()
    lines.first.locator(".log-text").click()
    assert page.evaluate("() => window.observatory.context.timeline.playhead") >= info["first"]
    page.get_by_role("link", name="System", exact=True).click()
    page.locator("[data-chart=event-list]").scroll_into_view_if_needed()
    expect(page.locator("[data-chart=event-list] tbody tr").first).to_be_visible()
    expect(page.locator("[data-chart=environment]")).to_contain_text("distributed")
    page.get_by_role("link", name="Graph", exact=True).click()
    plot = page.locator("[data-chart=groups-over-time]")
    note = plot.get_by_text("in bins of the whole run")
    expect(note).to_be_visible()
    boxes = [note.bounding_box(), plot.locator("canvas").bounding_box()]
    [of_note, of_plot] = [box for box in boxes if box]
    assert of_note["y"] >= of_plot["y"] + of_plot["height"], "the note covers the plot"
    page.get_by_role("link", name="Why?", exact=True).click()
    findings = page.locator("[data-chart=findings]")
    expect(findings).to_contain_text("A file has the findings of the whole run")
    expect(findings.locator("summary").filter(has_text="failed with ValueError")).to_be_visible()
    # the graph is laid out in a worker, whose script is in the file
    assert [url for url in asked if not url.startswith("blob:")] == [file.as_uri()]
    assert complaints == []


@pytest.mark.usefixtures("few_states")
def test_a_key_that_is_markup_is_a_text_in_the_file(
    observed: Observed, alone: tuple[Page, list[str], list[str]], tmp_path: Path
) -> None:
    page, _, complaints = alone
    observed.cluster.notes.create(time=observed.run.start, text=HOSTILE)
    content = report(observed.scope, title=HOSTILE)
    assert HOSTILE.encode() not in content
    file = tmp_path / "run.html"
    file.write_bytes(content)
    page.goto(file.as_uri())
    page.wait_for_function("() => document.documentElement.dataset.ready === '1'")
    page.evaluate("key => window.observatory.context.selection.setKey?.(key)", f"len-{HOSTILE}")
    assert page.locator("main img").count() == 0
    assert page.locator(".report-title").inner_text() == HOSTILE
    assert page.get_by_text(HOSTILE, exact=True).count() > 1, "the note is there as a text"
    assert complaints == []


@pytest.mark.usefixtures("few_states")
def test_the_policy_of_the_file_allows_its_own_scripts_alone(observed: Observed) -> None:
    content = report(observed.scope).decode()
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', content)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy.replace("http-equiv", "")
    assert not re.search(r'(?:src|href)="?https?:', content)


@pytest.mark.usefixtures("few_states")
def test_the_file_begins_with_the_card_of_its_run(observed: Observed) -> None:
    refresh_figures(observed.run)
    content = report(scope_of_run(observed.run)).decode()
    card, _, rest = content.partition("</section>")
    assert "Summary of the run" in card
    for shown in ("sum_slowly", "Time of the threads", "Peak memory"):
        assert shown in card
    assert "href" not in card[card.index('id="run-card"') :], "the file is alone"
    assert 'id="modules"' in rest


@pytest.mark.usefixtures("few_states")
def test_a_file_says_what_it_leaves_out(observed: Observed, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "every recorded task is in it" in report(observed.scope).decode()
    monkeypatch.setattr("observatory.exchange.formats.report_spans.MOST_TASKS", 0)
    monkeypatch.setattr("observatory.exchange.formats.report.BYTES_OF_A_RUN", 0)
    monkeypatch.setattr("observatory.exchange.formats.report.BYTES_OF_A_TASK", 1)
    assert re.search(r"tasks shorter than [\d.]+ m?s are summed", report(observed.scope).decode())


@pytest.mark.usefixtures("few_states")
def test_alerts_of_the_run_are_bands_in_the_file_with_what_they_mean(
    observed: Observed, alone: tuple[Page, list[str], list[str]], tmp_path: Path
) -> None:
    page, asked, complaints = alone
    for rule, origin in (
        (HOSTILE, observed.run.start),
        ("long before", observed.run.start - timedelta(hours=1)),
    ):
        make_alert(observed.cluster, rule, 0, 0, 1, origin, message=HOSTILE)
    file = tmp_path / "run.html"
    file.write_bytes(report(observed.scope))
    page.goto(file.as_uri())
    page.wait_for_function("() => document.documentElement.dataset.ready === '1'")
    page.keyboard.press("f")
    alerts = page.get_by_role("region", name="Alerts in the window")
    alerts.get_by_role("button").click()
    card = page.locator(".alert-card:visible")
    assert f"what to do about {HOSTILE}" in card.inner_text()
    assert card.get_by_role("link").count() == 0, "the file is alone"
    assert page.locator("main img").count() == 0
    assert len(asked) == 1
    assert complaints == []


@pytest.mark.usefixtures("few_states")
def test_notes_of_another_time_are_not_in_the_file(observed: Observed) -> None:
    start, stop = observed.run.start, observed.run.stop
    assert stop is not None
    notes = observed.cluster.notes
    notes.create(time=start - timedelta(hours=1), text="long before")
    notes.create(time=start - timedelta(hours=1), stop=start + timedelta(seconds=1), text="reaches into it")
    notes.create(time=start, text="at its start")
    notes.create(time=stop + timedelta(seconds=1), text="after it")
    entries = report_of(scope_of_run(observed.run), lambda done: None).entries
    found = json.loads(gzip.decompress(entries["/notes"]))
    assert [note["text"] for note in found] == ["reaches into it", "at its start"]


def test_a_file_has_every_answer_that_charts_declare(observed: Observed) -> None:
    entries = report_of(scope_of_run(observed.run), lambda done: None).entries
    declared = {
        path
        for chart in (ROOT / "frontend/charts").rglob("*.js")
        for paths in re.findall(r"^  answers: \[(.*)\],$", chart.read_text(), re.MULTILINE)
        for path in re.findall(r'"([^"]+)"', paths)
    }
    assert "/what-if" in declared
    assert declared <= entries.keys()
