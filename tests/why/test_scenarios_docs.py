"""The list in docs/why.md has each scenario of benchmarks/why.py."""

from __future__ import annotations

import re
from pathlib import Path

from tests.why.scenarios import graphs, seeded, waiting
from tests.why.scenarios.scenario import SEEDED

PAGE = Path(__file__).parents[2] / "docs/why.md"
ITEM, SCENARIO = re.compile(r"^- `([\w-]+)`: (.*)$", re.MULTILINE), re.compile(r"(\*\*)?`(\w+)`")


def test_the_documents_have_each_scenario_and_say_which_are_judged() -> None:
    part = PAGE.read_text().partition("<!-- scenarios -->")[2].partition("<!-- end of scenarios -->")[0]
    listed = [
        (name, cause, bool(bold))
        for cause, scenarios in ITEM.findall(part)
        for bold, name in SCENARIO.findall(scenarios)
    ]
    modules = {seeded.__name__, graphs.__name__, waiting.__name__}
    assert modules == {one.work.__module__ for one in SEEDED.values()}
    assert sorted(listed) == sorted((one.name, one.cause, one.is_judged) for one in SEEDED.values()), (
        "run benchmarks/why.py and docs/scripts/make_scenarios.py"
    )
