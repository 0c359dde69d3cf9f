"""Writes the tables of scenarios in docs/why.md, from files with JSON lines of benchmarks/why.py.

A later file replaces scenarios of those before, as after ONLY some were run again, and has the healthy ones.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.explaining.verdicts import HEALTHY, Verdict, results_of  # noqa: E402
from benchmarks.measuring.results import Result  # noqa: E402

PAGE = ROOT / "docs/why.md"
BEGIN, END = "<!-- scenarios -->\n", "<!-- end of scenarios -->\n"
PART = re.compile(re.escape(BEGIN) + r".*?" + re.escape(END), re.DOTALL)


def part(runs: Sequence[dict[str, Any]]) -> str:
    """What was measured altogether, and of each scenario."""
    last = runs[-1]
    again = " Some scenarios were run again after the detectors of their causes had changed."
    return "".join(
        [
            BEGIN,
            f"Measured on {last['date']} with {last['machine']['cpus']} cores.",
            again if len(runs) > 1 else "",
            "\n\n| measurement | of | limit | measured | reached |\n| --- | --- | --- | --- | --- |\n",
            *map(_result, _results(runs)),
            "\n| scenario | cause | judged | place | cost off by |\n| --- | --- | --- | --- | --- |\n",
            *(_scenario(one) for one in _verdicts(runs)),
            END,
        ]
    )


def _verdicts(runs: Sequence[dict[str, Any]]) -> list[Verdict]:
    verdicts = {one["name"]: Verdict(**one) for run in runs for one in run["scenarios"]}
    return sorted(verdicts.values(), key=lambda one: (one.cause, one.is_judged, one.name))


def _results(runs: Sequence[dict[str, Any]]) -> list[Result]:
    last = {one.pop("what"): one for one in runs[-1]["results"]}
    healthy = last[HEALTHY]
    found = results_of(_verdicts(runs), healthy["measured"], int(healthy["against"].split()[0]))
    known = {one.what for one in found}
    others = [{**one, "what": what} for what, one in last.items() if what not in known]
    return found + [Result(**{name: one[name] for name in Result.__slots__}) for one in others]


def _result(result: Result) -> str:
    limit, way = result.limit, "at least" if result.at_least else "at most"
    bound = "–" if limit is None else f"{way} {limit:g}"
    reached = "–" if limit is None else "yes" if result.is_reached else "**no**"
    return f"| {result.what} | {result.against} | {bound} | {result.measured:.3g} | {reached} |\n"


def _scenario(one: Verdict) -> str:
    judged, place = "yes" if one.is_judged else "no", one.place or "not found"
    error = "–" if one.error is None else f"{one.error:.0%}"
    return f"| `{one.name}` | `{one.cause}` | {judged} | {place} | {error} |\n"


if __name__ == "__main__":
    runs = [json.loads(Path(file).read_text().splitlines()[-1]) for file in sys.argv[1:]]
    PAGE.write_text(PART.sub(lambda _: part(runs), PAGE.read_text(), count=1))
