"""Records Dask's fine performance metrics: of the cluster as counters, of each Dask span as records.

A counter has no span as label: each submission has its own, so there would be ever more series.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from distributed import Scheduler

from observatory.agent.delivery.buffer import Buffer

MAXIMUM_SPANS = 100
"""Newest Dask spans whose metrics are recorded."""
LABELS = ("context", "prefix", "activity", "unit")


class FinePerformance:
    """Rows of kind `fine_performance`, and samples of `observatory_fine_performance_total`."""

    def __init__(
        self,
        scheduler: Scheduler,
        buffer: Buffer,
        add_counter: Callable[..., None],
        name_of: Callable[[str], str],
    ) -> None:
        """`add_counter(time, metric, value, labels)` records a sample of a counter that changed.

        `name_of`: under which prefix a prefix is counted.
        """
        self.scheduler = scheduler
        self._append = buffer.appender("fine_performance")
        self._add_counter = add_counter
        self._name_of = name_of
        self._before = {span.id: _sums(span._cumulative_worker_metrics) for span in self._newest_spans()}
        """Metrics of each recorded span when they were last read."""

    def sample(self, now: float) -> None:
        """Reads Scheduler.cumulative_worker_metrics and those of the newest spans."""
        counters: defaultdict[tuple[str, ...], float] = defaultdict(float)
        for (context, prefix, *rest), value in _sums(self.scheduler.cumulative_worker_metrics).items():
            counters[(context, self._name_of(prefix) if prefix else "", *rest)] += value
        for names, value in counters.items():
            labels = dict(zip(LABELS, names, strict=True))
            self._add_counter(now, "observatory_fine_performance_total", value, labels)
        before, self._before = self._before, {}
        for span in self._newest_spans():
            sums = _sums(span._cumulative_worker_metrics)
            self._record(now, span, sums, before.get(span.id, {}))
            self._before[span.id] = sums

    def _newest_spans(self) -> list[Any]:
        extension = self.scheduler.extensions.get("spans")
        return list(extension.spans.values())[-MAXIMUM_SPANS:] if extension is not None else []

    def _record(self, now: float, span: Any, sums: Mapping[Any, float], before: Mapping[Any, float]) -> None:
        """Records what the span's tasks added since it was last read."""
        names = None
        for labels, value in sums.items():
            added = value - before.get(labels, 0)
            if added:
                names = names or json.dumps([str(name) for name in span.name])
                self._append((now, span.id, names, *labels, float(added)))


def _sums(metrics: Mapping[Any, float]) -> dict[tuple[str, ...], float]:
    """Values by LABELS.

    Dask's names are (context, …, prefix, activity, unit). Only "execute" has a prefix.
    """
    sums: dict[tuple[str, ...], float] = {}
    for name, value in list(metrics.items()):
        if not isinstance(name, tuple) or len(name) < 3:
            continue
        context, *others, activity, unit = (str(part) for part in name)
        labels = (context, others[-1] if context == "execute" and others else "", activity, unit)
        sums[labels] = sums.get(labels, 0) + value
    return sums
