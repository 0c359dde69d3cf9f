"""Runs all benchmarks and writes docs/benchmarks.md: `make bench`.

`python -m benchmarks.measuring.table FILE` takes the lines in FILE, printed earlier, instead of running; of a
script with several the last counts, of one with none the page keeps its rows. Exit code 1 where a limit was
missed or a script failed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent
PAGE = FOLDER.parent / "docs" / "benchmarks.md"
Line = dict[str, Any]

HEAD = """# Benchmarks

Written by `make bench`, which runs every script in `benchmarks/`. Each measures a claim against a peer, or a
limit, in the same run; it can be run by itself and prints one JSON line, with more than is shown here.

| script | what | against | to reach | measured | reached |
| --- | --- | --- | --- | --- | --- |
"""
SURROUNDINGS = """
## Where and when

| script | date | machine | load at the end | versions |
| --- | --- | --- | --- | --- |
"""


def scripts() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.py"))


def run(script: str) -> Line | None:
    """The line that a script prints; None: it failed before it had one."""
    done = subprocess.run([sys.executable, FOLDER / f"{script}.py"], stdout=subprocess.PIPE, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"benchmark"')]
    if not lines:
        print(f"{script} failed with exit code {done.returncode}", file=sys.stderr)
        return None
    print(lines[-1], flush=True)
    return dict(json.loads(lines[-1]))


def page(lines: Iterable[Line], before: str = "") -> str:
    """The page of what was measured; a script without a line keeps its rows of the page `before`."""
    found = {line["benchmark"]: line for line in lines}
    results, _, surroundings = before.partition(SURROUNDINGS)
    rows, told = [], []
    for script in scripts():
        if script in found:
            rows += [f"| `{script}.py` | {_cells(result)} |\n" for result in found[script]["results"]]
            told.append(_surroundings(found[script]))
        else:
            rows += _rows_of(script, results) or [f"| `{script}.py` | not run yet | | | | |\n"]
            told += _rows_of(script, surroundings)
    return HEAD + "".join(rows) + (SURROUNDINGS + "".join(told) if told else "")


def _rows_of(script: str, table: str) -> list[str]:
    return [f"{row}\n" for row in table.splitlines() if row.startswith(f"| `{script}.py` |")]


def _cells(result: dict[str, Any]) -> str:
    limit = result["limit"]
    side = "at least" if result["at_least"] else "at most"
    to_reach = "–" if limit is None else f"{side} {_number(limit)}"
    reached = "–" if limit is None else "yes" if result["reached"] else "**no**"
    return f"{result['what']} | {result['against']} | {to_reach} | {_number(result['measured'])} | {reached}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _surroundings(line: Line) -> str:
    machine = line["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in line["versions"].items())
    where = f"{machine['cpus']} cores, {machine['platform']}"
    return (
        f"| `{line['benchmark']}.py` | {line['date']} | {where} | {machine['load'][0]:.1f} | {versions} |\n"
    )


def main() -> int:
    if len(sys.argv) > 1:
        lines: list[Line | None] = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    else:
        lines = [run(script) for script in scripts()]
    PAGE.write_text(page((line for line in lines if line is not None), PAGE.read_text()))
    return 0 if all(line is not None and line["reached"] for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
