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
    """Records dropped because too many waited for the database, or because it refused them."""
    batches_refused: int = 0
    """Batches of which the database refused records because of their data."""
    batches_quarantined: int = 0
    """Batches that went into quarantine, because they could not be stored while others could."""
    write_failures: int = 0
    """Failed writes: the batch waits."""
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
            "batches_quarantined": self.batches_quarantined,
            "write_failures": self.write_failures,
            "lag": {"buckets": buckets, "sum": self.lag_sum, "count": buckets["+Inf"]},
        }
