"""Metrics of the ingest endpoint, counted by each web process."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.publishing.committed import Committed

BATCHES = Counter("observatory_ingest_batches", "Valid batches of agents, by result.", ["result"])
REFUSED = Counter("observatory_ingest_refused_batches", "Refused batches of agents, by reason.", ["reason"])
DURATION = Histogram(
    "observatory_ingest_duration_seconds", "From a batch's request to its acknowledgement or refusal."
)
_rows: Counter = Counter("rows", "By kind.", ["kind"], registry=None)


def count_rows(batch: Batch, committed: Committed) -> None:
    """Counts the records of a batch that was stored."""
    counts = {kind: len(records) for kind, records in batch.records.items()}
    counts |= {"worker": len(batch.workers), "gone": len(batch.gone), "run": len(batch.runs)}
    for kind, count in counts.items():
        if count > committed.dropped[kind]:
            _rows.labels(kind).inc(count - committed.dropped[kind])


def ingested_rows() -> dict[str, float]:
    """The stored records of agents by kind, since this process started."""
    [family] = _rows.collect()
    return {
        sample.labels["kind"]: sample.value for sample in family.samples if sample.name.endswith("_total")
    }
