"""A run's page in the archive: until it is drawn, and moving its playhead, beside the same from rows.

A real run is multiplied to TASKS tasks and stored in a new Observatory. Its page is opened and its playhead
moved, first with all rows in their tables, then with all rows in the archive alone. Prints one JSON line; the
exit code is 1 if a limit was missed.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import scale  # noqa: E402
from benchmarks.measuring.results import Result, print_results  # noqa: E402
from benchmarks.reading_archive.served_run import ServedRun, served_run  # noqa: E402

TASKS = int(os.environ.get("TASKS", "200000"))
ROUNDS, SEEKS, MEANWHILE = 7, 40, 8
READ = {"span", "transition", "sample"}
"""what a seek reads"""
FIRST_TOUCH, OPENING, SEEKING = 500, 1.1, 1.1
"""ms; relative to rows in the tables"""
WINDOW = """([first, last]) =>
    window.observatory.context.timeline.setWindow(first, first + (last - first) / 50)"""


def opened(run: ServedRun, before: Callable[[], None]) -> list[float]:
    """Milliseconds until the task stream is drawn, opened cold so many times; `before` each."""
    found = []
    for _ in range(ROUNDS):
        before()
        taken, _, _, used = scale.open_page(run.browser, run.url, scale.READY, run.state)
        found.append(taken)
        used.close()
    return found


@dataclass(frozen=True, slots=True)
class Seeks:
    """Milliseconds until all charts show an instant, of random ones."""

    first: float
    meanwhile: list[float]
    """while archived rows come back into their tables"""
    further: list[float]


def seeks(run: ServedRun) -> Seeks:
    """In a page of its own."""
    from benchmarks.reading_archive.leaving import wait_for_rows
    from observatory.store.reading.scanning import OPENING as SECONDS_OF_OPENING

    _, _, page, used = scale.open_page(run.browser, run.url, scale.READY, run.state)
    first, last = page.evaluate(
        "() => { const { info } = window.observatory.context; return [info.first, info.last]; }"
    )
    page.evaluate(WINDOW, [first, last])
    generator = random.Random(1)
    page.set_default_timeout(600_000)

    def seek() -> float:
        return float(page.evaluate(scale.SEEK, generator.uniform(first, last)))

    time.sleep(SECONDS_OF_OPENING)  # people look at what was opened; later seeks bring rows back
    touch = seek()
    meanwhile = [seek() for _ in range(MEANWHILE)]
    wait_for_rows(run.cluster, READ)
    found = Seeks(touch, meanwhile, [seek() for _ in range(SEEKS)])
    used.close()
    return found


def measure(run: ServedRun) -> dict[str, Any]:
    from django.core.cache import cache

    from benchmarks.reading_archive.leaving import leave_tables
    from observatory.store.reading.scanning import visit_key

    def nobody_looked() -> None:
        """Have the next page be the first one that is opened."""
        leave_tables(run.cluster, is_read_elsewhere=True)
        cache.delete(visit_key(run.cluster))

    rows, in_rows = opened(run, lambda: None), seeks(run)
    archived = opened(run, nobody_looked)
    nobody_looked()
    in_archive = seeks(run)
    return {
        "rows_ms": statistics.median(rows),
        "opened_ms": statistics.median(archived),
        "opening": statistics.median(archived) / statistics.median(rows),
        "first_touch_ms": in_archive.first,
        "meanwhile_ms": statistics.median(in_archive.meanwhile),
        "seeking": percentile(in_archive.further) / percentile(in_rows.further),
        "seek_ms": percentile(in_archive.further),
    }


def percentile(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def results(measured: dict[str, Any]) -> Iterator[Result]:
    of_tasks, rows = f"a run of {TASKS:,} tasks in the archive alone", "the same from rows"
    yield Result(f"opening {of_tasks}, until its task stream is drawn", rows, measured["opening"], OPENING)
    yield Result(f"first seek in {of_tasks} (ms)", "the limit", measured["first_touch_ms"], FIRST_TOUCH)
    yield Result(
        f"further seeks in {of_tasks} once its rows are back, 95 %", rows, measured["seeking"], SEEKING
    )


def main() -> int:
    with served_run(TASKS) as run:
        measured = measure(run)
    return print_results("archive_pages", results(measured), ["playwright", "pyarrow"], **measured)


if __name__ == "__main__":
    sys.exit(main())
