"""A collector's counters, for its heartbeat, `doctor` and Observatory's own /metrics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

LAG_BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)


@dataclass(slots=True)
class Counters:
    """Counts since the collector started."""

    rows: Counter[str] = field(default_factory=Counter)
    """Stored records by kind: span, sample, event, worker."""
    scrapes: int = 0
    scrape_failures: int = 0
    records_dropped: int = 0
    """Records dropped because too many waited for the database."""
    batches_refused: int = 0
    """Batches that the database refused because of their data."""
    write_failures: int = 0
    """Failed writes: the database was unavailable."""
    lag: Counter[float] = field(default_factory=Counter)
    """Number of batches by ingest lag: upper bound of the age of the oldest span at commit, in seconds."""
    lag_sum: float = 0.0

    def add_lag(self, seconds: float) -> None:
        """Counts a batch by its lag."""
        bound = next((bound for bound in LAG_BOUNDS if seconds <= bound), float("inf"))
        self.lag[bound] += 1
        self.lag_sum += max(0.0, seconds)

    def as_json(self) -> dict[str, Any]:
        """JSON of the counters. `lag` is a cumulative histogram like those of Prometheus."""
        buckets, total = {}, 0
        for bound in LAG_BOUNDS:
            total += self.lag[bound]
            buckets[str(bound)] = total
        buckets["+Inf"] = total + self.lag[float("inf")]
        return {
            "rows": dict(self.rows),
            "scrapes": self.scrapes,
            "scrape_failures": self.scrape_failures,
            "records_dropped": self.records_dropped,
            "batches_refused": self.batches_refused,
            "write_failures": self.write_failures,
            "lag": {"buckets": buckets, "sum": self.lag_sum, "count": buckets["+Inf"]},
        }
