"""Writes the tables of scenarios in docs/why.md, from a file with the JSON line of benchmarks/why.py."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/why.md"
BEGIN, END = "<!-- scenarios -->\n", "<!-- end of scenarios -->\n"
PART = re.compile(re.escape(BEGIN) + r".*?" + re.escape(END), re.DOTALL)


def part(measured: dict[str, Any]) -> str:
    """What was measured altogether, and of each scenario."""
    date, machine = measured["date"], measured["machine"]
    return "".join(
        [
            BEGIN,
            f"Measured on {date} with {machine['cpus']} cores.\n\n",
            "| measurement | of | limit | measured | reached |\n| --- | --- | --- | --- | --- |\n",
            *map(_result, measured["results"]),
            "\n| scenario | cause | judged | place | cost (s) | saved without the cause (s) | off by |\n",
            "| --- | --- | --- | --- | --- | --- | --- |\n",
            *map(_scenario, measured["scenarios"]),
            END,
        ]
    )


def _result(result: dict[str, Any]) -> str:
    limit, way = result["limit"], "at least" if result["at_least"] else "at most"
    bound = "–" if limit is None else f"{way} {limit:g}"
    reached = "–" if limit is None else "yes" if result["reached"] else "**no**"
    return f"| {result['what']} | {result['against']} | {bound} | {result['measured']:.3g} | {reached} |\n"


def _scenario(one: dict[str, Any]) -> str:
    judged, place = "yes" if one["is_judged"] else "no", one["place"] or "not found"
    names = f"`{one['name']}` | `{one['cause']}` | {judged} | {place}"
    if one["error"] is None:
        return f"| {names} | – | – | – |\n"
    return f"| {names} | {one['cost']:.1f} | {one['saved']:.1f} | {one['error']:.0%} |\n"


if __name__ == "__main__":
    measured = json.loads(Path(sys.argv[1]).read_text().splitlines()[-1])
    PAGE.write_text(PART.sub(lambda _: part(measured), PAGE.read_text(), count=1))
