"""The table of docs/why.md has each scenario of benchmarks/why.py."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.unprepared.halves import half
from tests.why.scenarios import graphs, seeded, waiting
from tests.why.scenarios.scenario import SEEDED

PAGE = Path(__file__).parents[2] / "docs/why.md"
ROW = re.compile(r"^\| `(\w+)` \| `([\w-]+)` \| (yes|no) \|", re.MULTILINE)


def test_the_documents_have_each_scenario_and_say_which_are_judged() -> None:
    rows = [(name, cause, judged == "yes") for name, cause, judged in ROW.findall(PAGE.read_text())]
    modules = {seeded.__name__, graphs.__name__, waiting.__name__}
    assert modules == {one.work.__module__ for one in SEEDED.values()}
    assert sorted(rows) == sorted((one.name, one.cause, one.is_judged) for one in SEEDED.values()), (
        "run benchmarks/why.py and docs/scripts/make_scenarios.py"
    )


def test_the_documents_have_each_unprepared_workload() -> None:
    names = [one.name for number in (1, 2) for one in half(number)]
    tables = PAGE.read_text().partition("<!-- unprepared -->")[2].partition("<!-- end of unprepared -->")[0]
    assert re.findall(r"^\| `(\w+)` \|", tables, re.MULTILINE) == names
