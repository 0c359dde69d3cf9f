"""Runs all benchmarks and writes docs/benchmarks.md: `make bench`.

`python -m benchmarks.measuring.table FILE` reads lines printed earlier from FILE instead of running the
scripts. The last line of each script counts; scripts without a line keep their rows. The exit code is 1 if a
limit was missed or a script failed.
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

`make bench` writes this page from the scripts in `benchmarks/`, of which `soak.py` and `attacks.py` take
hours and [`gpu.py`](gpu.md) needs a GPU. Each measures a claim against a peer or a limit in the same run, and
prints a JSON line, which alone has versions and what has no limit. What missed its limit is **bold**.
[Load](scaling.md), [disk](sizing.md) and [unprepared work](why.md#how-right-it-is) have their own pages.

| script | measurement | compared with | limit | measured |
| --- | --- | --- | --- | --- |
"""
TAKES_HOURS = frozenset(("attacks", "soak"))
"""scripts that `make bench` does not run; their rows are made from FILE"""
NEEDS_GPU = "gpu"
"""a script that compares no claim: it has no row"""
MACHINES = """
## Date and machine

| script | date | cores | load at the end |
| --- | --- | --- | --- |
"""


def scripts() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != NEEDS_GPU)


def run(script: str) -> Line | None:
    """Run a script and return its line; None if it failed without one."""
    completed = subprocess.run([sys.executable, FOLDER / f"{script}.py"], stdout=subprocess.PIPE, text=True)
    lines = [line for line in completed.stdout.splitlines() if line.startswith('{"benchmark"')]
    if not lines:
        print(f"{script} failed with exit code {completed.returncode}", file=sys.stderr)
        return None
    print(lines[-1], flush=True)
    return dict(json.loads(lines[-1]))


def page(lines: Iterable[Line], before: str = "") -> str:
    """Return the page; scripts without a line keep their rows of the page `before`."""
    by_script = {line["benchmark"]: line for line in lines}
    results, _, machines = before.partition(MACHINES)
    rows, machine_rows = [], []
    for script in scripts():
        if script in by_script:
            limited = [one for one in by_script[script]["results"] if one["limit"] is not None]
            limited_rows = [f"| `{script}.py` | {_cells(result)} |\n" for result in limited]
            rows += limited_rows or [f"| `{script}.py` | measured without a limit | | | |\n"]
            machine_rows.append(_machine_row(by_script[script]))
        else:
            rows += _rows_of(script, results) or [f"| `{script}.py` | not run yet | | | |\n"]
            machine_rows += _rows_of(script, machines)
    return HEAD + "".join(rows) + (MACHINES + "".join(machine_rows) if machine_rows else "")


def _rows_of(script: str, table: str) -> list[str]:
    return [f"{row}\n" for row in table.splitlines() if row.startswith(f"| `{script}.py` |")]


def _cells(result: dict[str, Any]) -> str:
    limit = f"{'≥' if result['at_least'] else '≤'} {_number(result['limit'])}"
    number = _number(result["measured"])
    measured = number if result["reached"] else f"**{number}**"
    return f"{result['what']} | {result['against']} | {limit} | {measured}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _machine_row(line: Line) -> str:
    machine = line["machine"]
    return f"| `{line['benchmark']}.py` | {line['date']} | {machine['cpus']} | {machine['load'][0]:.1f} |\n"


def main() -> int:
    if len(sys.argv) > 1:
        lines: list[Line | None] = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    else:
        lines = [run(script) for script in scripts() if script not in TAKES_HOURS]
    PAGE.write_text(page((line for line in lines if line is not None), PAGE.read_text()))
    return 0 if all(line is not None and line["reached"] for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
