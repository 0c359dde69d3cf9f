"""Metrics of the ingest endpoint, counted by each web process."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

from observatory.store.ingest.batches.batch import Batch

BATCHES = Counter("observatory_ingest_batches", "Valid batches of agents, by result.", ["result"])
REFUSED = Counter("observatory_ingest_refused_batches", "Refused batches of agents, by reason.", ["reason"])
DURATION = Histogram(
    "observatory_ingest_duration_seconds", "From a batch's request to its acknowledgement or refusal."
)
_rows: Counter = Counter("rows", "By kind.", ["kind"], registry=None)


def count_rows(batch: Batch) -> None:
    """Counts the records of a batch that was stored."""
    for kind, records in batch.records.items():
        _rows.labels(kind).inc(len(records))
    for kind, count in (("worker", len(batch.workers)), ("gone", len(batch.gone)), ("run", len(batch.runs))):
        if count:
            _rows.labels(kind).inc(count)


def ingested_rows() -> dict[str, float]:
    """The stored records of agents by kind, since this process started."""
    [family] = _rows.collect()
    return {
        sample.labels["kind"]: sample.value for sample in family.samples if sample.name.endswith("_total")
    }
