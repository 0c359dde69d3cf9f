"""Writes docs/metrics.md from observatory/wire/metrics.py. A test checks that the page is up to date."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from observatory.wire.metrics import Metric

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/metrics.md"
HEAD = """# Metrics

The metrics that Observatory makes itself, and those that Dask's schedulers and workers report on `/metrics`.
Use them in [rules](alerts.md), in SQL and in exports. Other metrics on those pages are recorded too.
A sum over values of a label that *don't add up* counts something twice, or adds different things.
Values of *rounded* metrics are right within 0.013 % ([figures.md](figures.md#rates-shares-and-means)).
`docs/scripts/make_metrics.py` writes this page from `observatory/wire/metrics.py`.
"""
APART = " (don't add up)"
TABLE = "| metric | type | unit | labels | meaning |\n| --- | --- | --- | --- | --- |\n"


def page() -> str:
    from observatory.wire.metrics import METRICS, OBSERVATORY_METRICS

    dask = [metric for name, metric in METRICS.items() if name not in OBSERVATORY_METRICS]
    return f"{HEAD}\n## Observatory\n{_table(OBSERVATORY_METRICS.values())}\n## Dask\n{_table(dask)}"


def _table(metrics: Iterable[Metric]) -> str:
    return TABLE + "".join(f"| {' | '.join(_cells(metric))} |\n" for metric in metrics)


def _cells(metric: Metric) -> list[str]:
    labels = [
        f"`{label}`" + (f": {', '.join(values)}" if values else "") + (APART if label in metric.kinds else "")
        for label, values in metric.labels.items()
    ]
    unit = f"{metric.unit}, rounded" if metric.is_rounded else metric.unit
    return [f"`{metric.name}`", metric.type.name.lower(), unit, "; ".join(labels), metric.help]


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    PAGE.write_text(page())
