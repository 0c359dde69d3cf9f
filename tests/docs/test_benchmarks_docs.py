"""docs/benchmarks.md has a part of every benchmark, made from the lines they print."""

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


def part(text: str, script: str) -> list[str]:
    """The lines below a script's heading that aren't empty."""
    below = text.split(f"\n## `{script}.py`\n")[1].split("\n## ")[0]
    return [line for line in below.splitlines() if line]


def test_the_documentation_has_a_part_of_every_benchmark_and_no_others() -> None:
    assert re.findall(r"^## `(\w+)\.py`$", PAGE.read_text(), re.MULTILINE) == scripts()


def test_results_with_a_limit_are_shown_and_a_benchmark_without_any_as_not_run() -> None:
    shown = page([LINE])
    assert part(shown, "exposition") == [
        "2026-05-04, 2 cores, load 0.5 at the end",
        "- x, against y: **1.23** (≥ 2)",
    ]
    assert {line for script in scripts() if script != "exposition" for line in part(shown, script)} == {
        "not run yet"
    }


def test_a_benchmark_whose_results_have_no_limit_was_run() -> None:
    unlimited = {**LINE, "results": [{**result, "limit": None} for result in LINE["results"]]}
    [line] = part(page([unlimited]), "exposition")
    assert line == "2026-05-04, 2 cores, load 0.5 at the end, without limits"


def test_a_benchmark_without_a_new_line_keeps_its_part() -> None:
    before = page([LINE])
    after = page([{**LINE, "benchmark": "ingest"}], before)
    assert part(after, "exposition") == part(before, "exposition")
    assert part(after, "ingest") == part(before, "exposition")
