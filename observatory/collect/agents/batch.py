"""An agent's batch as a batch of records: what it says is taken for text from outside, like anything else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any
from uuid import UUID

from observatory.store.keys import split_key
from observatory.store.schema.time_series import RECORDED
from observatory.wire.batches import decode_rows
from observatory.wire.blocks import Block
from observatory.wire.event_kinds import EVENT_KINDS
from observatory.wire.head import Head
from observatory.wire.records import (
    Action,
    Batch,
    Event,
    MetricType,
    OpenedRun,
    Sample,
    Series,
    Span,
    Status,
    WorkerGone,
    WorkerSeen,
)
from observatory.wire.runs import (
    LONGEST_NAME,
    LONGEST_TAG,
    LONGEST_USER,
    OUTCOMES,
    clean_code,
    clean_line,
    clean_tags,
)

RUN = re.compile(r"[0-9a-f]{32}")
MAXIMUM_LABELS = 50
MAXIMUM_LABEL = 500
REASONS = {
    "buffer-full": "they came faster than the agent could take them",
    "spool-full": "the agent had no room to keep them",
    "damaged": "what the agent had kept of them on disk was damaged",
    "refused": "the server didn't take them",
    "broken": "they couldn't be read",
}

Row = tuple[Any, ...]


def batch_of(cluster: int, head: Head, blocks: Mapping[str, Block]) -> tuple[Batch, int]:
    """The records, and how many were refused. Raises BatchError."""
    batch = Batch(cluster, committed=head.committed, head=head)
    refused = 0
    for name, block in blocks.items():
        rows, unreadable = decode_rows(block)
        refused += unreadable
        if name in RECORDED:
            batch.rows[name] = rows
        else:
            made = [record for row in rows if (record := READERS[name](row)) is not None]
            refused += len(rows) - len(made)
            _list_of(batch, name).extend(made)
    batch.errors = sum(row[3] != "retried" for row in batch.rows.get("error", ()))
    return batch, refused


def _list_of(batch: Batch, kind: str) -> list[Any]:
    lists: dict[str, list[Any]] = {
        "span": batch.spans,
        "sample": batch.samples,
        "event": batch.events,
        "dropped": batch.events,
        "worker": batch.workers,
        "gone": batch.gone,
        "run": batch.runs,
    }
    return lists[kind]


def _span(row: Row) -> Span | None:
    worker, thread, key, action, start, stop, nbytes, typename, status = row
    if not worker or action >= len(Action) or status >= len(Status) or stop < start or thread < 0:
        return None
    prefix, group = split_key(key)
    return Span(
        worker,
        int(thread),
        key,
        prefix,
        group,
        Action(action),
        start,
        stop,
        int(nbytes),
        typename,
        Status(status),
    )


def _sample(row: Row) -> Sample | None:
    time, value, text = row
    series = read_series(text)
    return None if series is None else Sample(series, time, value)


@lru_cache(200_000)
def read_series(text: str) -> Series | None:
    """JSON [metric, {label: value}, worker, type] as a series; None when it is none."""
    try:
        metric, labels, worker, type = json.loads(text)
        known = MetricType(type)
    except (ValueError, TypeError, RecursionError):
        return None
    if (
        not isinstance(metric, str)
        or not metric
        or not isinstance(worker, str)
        or not isinstance(labels, dict)
    ):
        return None
    if len(labels) > MAXIMUM_LABELS or max(len(metric), len(worker)) > MAXIMUM_LABEL:
        return None
    if not all(isinstance(label, str) and len(label) <= MAXIMUM_LABEL for label in labels.values()):
        return None
    return Series(metric, tuple(sorted(labels.items())), worker, known)


def _event(row: Row) -> Event | None:
    time, kind, worker, detail = row
    return Event(time, kind, worker, detail) if kind in EVENT_KINDS and isinstance(detail, dict) else None


def _dropped(row: Row) -> Event:
    first, last, kind, count, reason = row
    why = REASONS.get(reason, reason)
    message = f"{count:,} records of kind {kind} are missing: {why}"
    detail = {
        "message": message,
        "first": first,
        "last": last,
        "kind": kind,
        "count": count,
        "reason": reason,
    }
    return Event(first, "records-dropped", "", detail)


def _worker(row: Row) -> WorkerSeen | None:
    time, address, name, host, nthreads, memory_limit, status, resources, detail = row
    if not address or not isinstance(resources, dict) or not isinstance(detail, dict):
        return None
    limit = max(0, int(memory_limit))
    return WorkerSeen(address, name, host, nthreads, limit, time, status, resources, detail)


def _gone(row: Row) -> WorkerGone | None:
    time, address, reason = row
    return WorkerGone(address, time, reason) if address else None


def _run(row: Row) -> OpenedRun | None:
    time, start, run, outcome, name, tags, user, code, exception_type = row
    if not RUN.fullmatch(run) or outcome not in OUTCOMES or start > time:
        return None
    return OpenedRun(
        UUID(run),
        time,
        start,
        outcome,
        clean_line(name, LONGEST_NAME),
        clean_tags(tags),
        clean_line(user, LONGEST_USER),
        clean_code(code),
        clean_line(exception_type, LONGEST_TAG),
    )


READERS: dict[str, Callable[[Row], Any]] = {
    "span": _span,
    "sample": _sample,
    "event": _event,
    "dropped": _dropped,
    "worker": _worker,
    "gone": _gone,
    "run": _run,
}
