"""docs/benchmarks.md has rows of every benchmark, made from the lines they print."""

from __future__ import annotations

import re

from benchmarks.measuring.table import PAGE, page, scripts

LINE = {
    "benchmark": "exposition",
    "reached": False,
    "results": [
        {"what": "x", "against": "y", "measured": 1.234, "limit": 2.0, "at_least": True, "reached": False},
        {"what": "z", "against": "y", "measured": 345678, "limit": None, "at_least": False, "reached": True},
    ],
    "date": "2026-05-04",
    "machine": {"cpus": 2, "platform": "Linux", "load": [0.5, 0.4, 0.3]},
    "versions": {"python": "3.11.7"},
}


def rows(text: str) -> list[list[str]]:
    """Return the cells of each script's rows."""
    found = re.findall(r"^\| `(\w+)\.py` \|(.*)\|$", text, re.MULTILINE)
    return [[script, *(cell.strip() for cell in cells.split("|"))] for script, cells in found]


def test_the_documentation_has_rows_of_every_benchmark_and_no_others() -> None:
    assert {script for script, *_ in rows(PAGE.read_text())} == set(scripts())


def test_results_with_a_limit_are_shown_and_a_benchmark_without_any_as_not_run() -> None:
    shown = rows(page([LINE]))
    assert [row[1:] for row in shown if row[0] == "exposition"] == [
        ["x", "y", "≥ 2", "**1.23**"],
        ["2026-05-04", "2", "0.5"],
    ]
    assert {row[1] for row in shown if row[0] != "exposition"} == {"not run yet"}


def test_a_benchmark_whose_results_have_no_limit_was_run() -> None:
    unlimited = {**LINE, "results": [{**result, "limit": None} for result in LINE["results"]]}
    shown = rows(page([unlimited]))
    assert [row[1] for row in shown if row[0] == "exposition"][:1] == ["measured without a limit"]


def test_a_benchmark_without_a_new_line_keeps_its_rows() -> None:
    before = page([LINE])
    after = page([{**LINE, "benchmark": "ingest"}], before)
    assert [row for row in rows(after) if row[0] == "exposition"] == [
        row for row in rows(before) if row[0] == "exposition"
    ]
