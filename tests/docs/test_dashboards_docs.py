"""docs/dashboards.md: where each page of Dask's dashboards is in Observatory."""

from __future__ import annotations

import re
from pathlib import Path

from observatory.replay.tabs import TABS
from observatory.wire.kinds import KINDS
from observatory.wire.metrics import METRICS, TASKS_COMPUTED
from tests.support.dashboards import QUESTIONS, rows

ROOT = Path(__file__).resolve().parent.parent.parent
TITLE = re.compile(r'^  title: "(?P<of_chart>.+)",$|traffic\("[^"]+", "(?P<of_traffic>[^"]+)"', re.MULTILINE)
TITLES = {
    found["of_chart"] or found["of_traffic"]
    for file in (ROOT / "frontend/charts").rglob("*.js")
    for found in TITLE.finditer(file.read_text())
}
REASONS = ("not yet", "left out", "the page ")
PAGES = ("The scheduler's pages", "A worker's pages")


def pages(heading: str) -> set[str]:
    return {name for row in rows(heading) for name in re.findall("`([^`]+)`", row[0])}


def test_every_page_of_the_scheduler_and_of_workers_has_a_row() -> None:
    # here, because they import Bokeh, and each process of pytest imports all modules of tests
    from distributed.dashboard.scheduler import applications as of_scheduler
    from distributed.dashboard.worker import applications as of_workers

    scheduler, worker = PAGES
    assert pages(scheduler) == set(of_scheduler)
    assert pages(worker) == set(of_workers)


def test_a_row_names_a_tab_that_there_is_or_says_why_there_is_none() -> None:
    names = {tab.name for tab in TABS}
    for page, tab, chart in (row for heading in PAGES for row in rows(heading)):
        assert tab in names or (tab == "–" and chart.startswith(REASONS)), page


def test_charts_have_their_names_on_the_page() -> None:
    for page, tab, chart in rows(PAGES[0]):
        first = chart.split(",")[0].removesuffix(" (with the agent)")
        assert tab == "–" or first in TITLES or first.split(":")[0] in TITLES, page


def test_each_answer_to_a_question_begins_with_a_place_at_most_three_clicks_away() -> None:
    of_run = {"the run's headline", "the run's card"}
    places = {tab.title for tab in TABS} | of_run | {"Search (`/`)", "Errors", "Compare", "Usage"}
    questions = list(rows("Questions, and where their answers are"))
    assert len(questions) == len(QUESTIONS) == 24
    for question, answer, _ in questions:
        if not answer.startswith("not yet"):
            parts = answer.split("; ")
            assert {re.split("[:,]", part)[0] for part in parts} <= places, question
            assert QUESTIONS[question][1] <= 3, question


DRAWING = (
    "frontend/charts",
    "observatory/replay",
    "observatory/store/queries",
    "observatory/why",
    "observatory/clusters",
)
"""where records are read for people; rules read any metric"""
DRAWN = "\n".join(
    file.read_text()
    for folder in DRAWING
    for file in sorted((ROOT / folder).rglob("*"))
    if file.suffix in (".py", ".js")
)
NOT_DRAWN = [
    re.compile(re.escape(pattern).replace(r"\*", ".*"))
    for record, _ in rows("Recorded and not drawn")
    for pattern in re.findall("`([^`]+)`", record)
]


def is_named_as_not_drawn(name: str) -> bool:
    return any(pattern.fullmatch(name) for pattern in NOT_DRAWN)


def test_a_metric_is_drawn_or_named_among_those_that_are_not() -> None:
    for metric in METRICS.values():
        if not metric.is_own:
            name = "TASKS_COMPUTED" if metric.name == TASKS_COMPUTED else f'"{metric.name}"'
            is_drawn = bool(metric.layer) or name in DRAWN
            assert is_drawn != is_named_as_not_drawn(metric.name), metric.name


def test_each_kind_of_record_is_read_for_people() -> None:
    for kind in (kind for kind in KINDS.values() if kind.has_table):
        assert re.search(rf"(FROM|JOIN) {kind.name}\b", DRAWN), kind.name


def test_each_tab_has_a_picture_from_a_real_run() -> None:
    page = (ROOT / "docs/dashboards.md").read_text()
    pictures = re.findall(r"!\[([^\]]+)\]\(pictures/([a-z]+)\.webp\)", page)
    assert [name for _, name in pictures] == [tab.name for tab in TABS]
    for text, name in pictures:
        size = (ROOT / f"docs/pictures/{name}.webp").stat().st_size
        assert text
        assert 5_000 < size < 120_000, name
