"""Writes docs/metrics.md from observatory/wire/metrics.py. A test checks that the page is up to date."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from observatory.wire.metrics import Metric

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/metrics.md"
HEAD = """# Metrics

What Observatory measures itself, and what Dask's schedulers and workers report on `/metrics`, for
[rules](alerts.md), SQL and exports. Other metrics of those pages are recorded too. Values of a label that
*don't add up* overlap. *Rounded* values are right within 0.013 %
([figures.md](figures.md#rates-shares-and-means)).
`docs/scripts/make_metrics.py` writes this page from `observatory/wire/metrics.py`.
"""
APART = " (don't add up)"
AGENT, OWN = " Needs the agent.", " Of Observatory itself."


def page() -> str:
    from observatory.wire.metrics import METRICS, OBSERVATORY_METRICS

    sections: dict[str, list[Metric]] = {
        heading: []
        for heading in (
            "Of every cluster",
            "Of clusters with the agent",
            "Of Observatory itself",
            "Of Dask's /metrics",
        )
    }
    with_and_without, with_agent, of_observatory, of_dask = sections.values()
    for name, metric in METRICS.items():
        if name not in OBSERVATORY_METRICS:
            of_dask.append(metric)
        elif metric.help.endswith(OWN):
            of_observatory.append(metric)
        else:
            (with_agent if metric.help.endswith(AGENT) else with_and_without).append(metric)
    return HEAD + "".join(
        f"\n## {heading}\n{''.join(map(_item, metrics))}" for heading, metrics in sections.items()
    )


def _item(metric: Metric) -> str:
    labels = [
        f"`{label}`" + (f": {', '.join(values)}" if values else "") + (APART if label in metric.kinds else "")
        for label, values in metric.labels.items()
    ]
    kind = [metric.type.name.lower(), metric.unit, "rounded" if metric.is_rounded else ""]
    meaning = metric.help.removesuffix(AGENT).removesuffix(OWN)
    by = f" By {'; '.join(labels)}." if labels else ""
    return f"- `{metric.name}` ({', '.join(filter(None, kind))}): {meaning}{by}\n"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    PAGE.write_text(page())
