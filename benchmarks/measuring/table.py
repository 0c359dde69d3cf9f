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
"""
TAKES_HOURS = frozenset(("attacks", "soak"))
"""scripts that `make bench` does not run; their rows are made from FILE"""
NEEDS_GPU = "gpu"
"""a script that compares no claim: it has no row"""


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
    """Return the page; scripts without a line keep their part of the page `before`."""
    by_script = {line["benchmark"]: line for line in lines}
    parts = [
        _part(by_script[script]) if script in by_script else _kept(script, before) for script in scripts()
    ]
    return HEAD + "".join(parts)


def _part(line: Line) -> str:
    machine = line["machine"]
    items = [_item(result) for result in line["results"] if result["limit"] is not None]
    about = f"{line['date']}, {machine['cpus']} cores, load {machine['load'][0]:.1f} at the end"
    return _heading(line["benchmark"]) + about + ("\n\n" + "".join(items) if items else ", without limits\n")


def _kept(script: str, before: str) -> str:
    heading = _heading(script)
    _, found, rest = before.partition(heading)
    return heading + (rest.partition("\n## ")[0].rstrip("\n") + "\n" if found else "not run yet\n")


def _heading(script: str) -> str:
    return f"\n## `{script}.py`\n"


def _item(result: dict[str, Any]) -> str:
    limit = f"{'≥' if result['at_least'] else '≤'} {_number(result['limit'])}"
    number = _number(result["measured"])
    measured = number if result["reached"] else f"**{number}**"
    return f"- {result['what']}{_against(result['against'])}: {measured} ({limit})\n"


def _against(peer: str) -> str:
    """The peer; a result that is compared with its limit has none."""
    return "" if "limit" in peer or peer in ("–", "before", "its budget") else f", against {peer}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def main() -> int:
    if len(sys.argv) > 1:
        lines: list[Line | None] = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    else:
        lines = [run(script) for script in scripts() if script not in TAKES_HOURS]
    PAGE.write_text(page((line for line in lines if line is not None), PAGE.read_text()))
    return 0 if all(line is not None and line["reached"] for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
