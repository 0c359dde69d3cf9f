"""Writes the tables of unprepared workloads in docs/why.md, from JSON of `benchmarks/why.py --unprepared`.

The arguments are files with a JSON line each; their tables follow each other.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs/why.md"
BEGIN, END = "<!-- unprepared -->\n", "<!-- end of unprepared -->\n"
PART = re.compile(re.escape(BEGIN) + r".*?" + re.escape(END), re.DOTALL)


def part(judged: dict[str, Any]) -> str:
    """What was measured altogether of a half, and of each workload."""
    load = judged["machine"]["load"][1]
    return "".join(
        [
            f"\n{judged['benchmark'].capitalize()}, on {judged['date']} with {judged['machine']['cpus']} ",
            f"cores at load {load:.0f}:\n\n",
            "| measurement | of | limit | measured | reached |\n| --- | --- | --- | --- | --- |\n",
            *map(_result, judged["results"]),
            "\n| workload | causes | places | cost off by | beside |\n| --- | --- | --- | --- | --- |\n",
            *map(_workload, judged["workloads"]),
        ]
    )


def _result(one: dict[str, Any]) -> str:
    bound = f"{'at least' if one['at_least'] else 'at most'} {one['limit']:g}"
    reached = "yes" if one["reached"] else "**no**"
    return f"| {one['what']} | {one['against']} | {bound} | {one['measured']:.3g} | {reached} |\n"


def _workload(one: dict[str, Any]) -> str:
    causes = ", ".join(one["causes"]) or "none"
    places = ", ".join(str(place or "not found") for place in one["places"]) or "–"
    error = f"{one['error']:.0%}" if one["error"] is not None and one["causes"] else "–"
    beside = ", ".join(f"`{kind}`" for kind in one["wrong"]) or "–"
    return f"| `{one['name']}` | {causes} | {places} | {error} | {beside} |\n"


if __name__ == "__main__":
    halves = [json.loads(Path(file).read_text().splitlines()[-1]) for file in sys.argv[1:]]
    tables = BEGIN + "".join(map(part, halves)).lstrip("\n") + END
    PAGE.write_text(PART.sub(lambda _: tables, PAGE.read_text(), count=1))
