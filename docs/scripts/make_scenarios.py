"""Writes the list of scenarios in docs/why.md, from files with JSON lines of benchmarks/why.py.

A later file replaces scenarios of those before, as after ONLY some were run again, and has the healthy ones.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.explaining.verdicts import Verdict  # noqa: E402

PAGE = ROOT / "docs/why.md"
BEGIN, END = "<!-- scenarios -->\n", "<!-- end of scenarios -->\n"
PART = re.compile(re.escape(BEGIN) + r".*?" + re.escape(END), re.DOTALL)


def part(runs: Sequence[dict[str, Any]]) -> str:
    """The scenarios of each cause, and how far their costs are off."""
    last = runs[-1]
    again = " Some were run again after the detectors of their causes had changed."
    measured = f"Measured on {last['date']} with {last['machine']['cpus']} cores."
    by_cause = groupby(_verdicts(runs), key=lambda one: one.cause)
    items = [f"- `{cause}`: {', '.join(map(_scenario, found))}\n" for cause, found in by_cause]
    return "".join([BEGIN, measured, again if len(runs) > 1 else "", "\n\n", *items, END])


def _verdicts(runs: Sequence[dict[str, Any]]) -> list[Verdict]:
    verdicts = {one["name"]: Verdict(**one) for run in runs for one in run["scenarios"]}
    return sorted(verdicts.values(), key=lambda one: (one.cause, one.is_judged, one.name))


def _scenario(one: Verdict) -> str:
    name = f"**`{one.name}`**" if one.is_judged else f"`{one.name}`"
    about = [] if one.place == 1 else [f"place {one.place}" if one.place else "not found"]
    about += [] if one.error is None else [f"{one.error:.0%}"]
    return f"{name} ({', '.join(about)})" if about else name


if __name__ == "__main__":
    runs = [json.loads(Path(file).read_text().splitlines()[-1]) for file in sys.argv[1:]]
    PAGE.write_text(PART.sub(lambda _: part(runs), PAGE.read_text(), count=1))
