"""Makes a batch of records of an agent's blocks. Their contents are not trusted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from sys import getsizeof
from typing import Any
from uuid import UUID

import numpy as np

from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.batches.reading_blocks import records_of_block
from observatory.store.ingest.batches.record_columns import Array, Records, joined, records_of_rows
from observatory.wire.blocks import Block
from observatory.wire.client_code.runs import (
    LONGEST_NAME,
    LONGEST_TAG,
    LONGEST_USER,
    OUTCOMES,
    clean_code,
    clean_line,
    clean_tags,
)
from observatory.wire.dropped_records import dropped_detail
from observatory.wire.event_kinds import EVENT_KINDS, RECORDS_DROPPED
from observatory.wire.head import Head
from observatory.wire.kinds import KINDS
from observatory.wire.records import (
    Action,
    ClientRun,
    MetricType,
    Series,
    Status,
    WorkerGone,
    WorkerSeen,
)

RUN = re.compile(r"[0-9a-f]{32}")
MAXIMUM_LABELS = 50
MAXIMUM_LABEL = 500
MOST_BYTES_OF_SERIES = 32 << 20
"""some 40,000 series"""
SERIES_SIZE, LABEL_SIZE = 500, 160
"""bytes of memory beside the text, which labels repeat"""


def batch_of(cluster: int, head: Head, blocks: Mapping[str, Block]) -> tuple[Batch, int]:
    """The batch, and how many records were refused. Raises BatchError."""
    read = {name: records_of_block(block) for name, block in blocks.items()}
    refused = sum(count for _, count in read.values())
    found = {name: some for name, (some, _) in read.items() if len(some)}
    before = sum(map(len, found.values()))
    workers = _workers(found.pop("worker", None))
    gone = _gone(found.pop("gone", None))
    runs = _runs(found.pop("run", None))
    drops = _drops(found.pop("dropped", None))
    for name, valid in (("span", _valid_spans), ("event", _valid_events)):
        if name in found:
            found[name] = valid(found[name])
    if "sample" in found:
        found["sample"] = _with_series(found["sample"])
    after = len(workers) + len(gone) + len(runs) + len(drops) + sum(map(len, found.values()))
    if len(drops):
        found["event"] = joined([found["event"], drops]) if "event" in found else drops
    return (
        Batch(
            cluster,
            {name: some for name, some in found.items() if len(some)},
            workers,
            gone,
            runs,
            committed=head.committed,
            errors=_errors(found.get("error")),
            head=head,
            dropped=sum(detail["count"] for detail in drops.coded("detail").values),
        ),
        refused + before - after,
    )


def _errors(errors: Records | None) -> int:
    """The number of tasks that erred for good."""
    if errors is None:
        return 0
    return int(np.count_nonzero(errors.coded("outcome").numbers(lambda outcome: outcome != "retried")))


def _valid_spans(spans: Records) -> Records:
    threads, sizes = spans.numbers("thread"), spans.numbers("nbytes")
    good: Array = (
        spans.coded("worker").numbers(bool, np.bool_)
        & (spans.numbers("action") < len(Action))
        & (spans.numbers("status") < len(Status))
        & (spans.stops >= spans.times)
        & (threads >= 0)
        & (threads < 2.0**63)
        & (sizes > -1)
        & (sizes < 2.0**63)
    )
    valid = spans.where(good)
    return valid.changed(
        thread=valid.numbers("thread").astype(np.int64), nbytes=valid.numbers("nbytes").astype(np.int64)
    )


def _valid_events(events: Records) -> Records:
    known = events.coded("kind").numbers(lambda kind: kind in EVENT_KINDS, np.bool_)
    objects = events.coded("detail").numbers(lambda detail: isinstance(detail, dict), np.bool_)
    return events.where(known & objects)


def _with_series(samples: Records) -> Records:
    """The samples whose series can be read, with that in place of its text."""
    series = samples.coded("series").map(SERIES_TEXTS.read)
    read = samples.changed(series=series)
    return read.where(series.numbers(lambda one: one is not None, np.bool_))


class SeriesTexts:
    """Series by their texts, which are nearly the same in each batch; up to a number of bytes."""

    def __init__(self) -> None:
        self._known: dict[str, Series | None] = {}
        self.size = 0

    def read(self, text: str) -> Series | None:
        """As `read_series`."""
        if text in self._known:
            return self._known[text]
        series = read_series(text)
        if self.size > MOST_BYTES_OF_SERIES:
            self._known, self.size = {}, 0
        self.size += getsizeof(text) + SERIES_SIZE + (LABEL_SIZE * len(series.labels) if series else 0)
        self._known[text] = series
        return series


SERIES_TEXTS = SeriesTexts()
"""of this process"""


def read_series(text: str) -> Series | None:
    """JSON [metric, {label: value}, worker, type] as a series; None if it is none."""
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


def _drops(dropped: Records | None) -> Records:
    """An event for each."""
    rows = []
    for first, last, kind, count, reason in dropped.rows() if dropped is not None else ():
        detail = dropped_detail(kind, count, reason, first, last)
        rows.append((first, RECORDS_DROPPED, "", detail))
    return records_of_rows(KINDS["event"], rows)


def _workers(workers: Records | None) -> list[WorkerSeen]:
    return [
        WorkerSeen(address, name, host, nthreads, max(0, int(memory_limit)), time, status, resources, detail)
        for time, address, name, host, nthreads, memory_limit, status, resources, detail in _rows(workers)
        if address and isinstance(resources, dict) and isinstance(detail, dict)
    ]


def _gone(gone: Records | None) -> list[WorkerGone]:
    return [WorkerGone(address, time, reason) for time, address, reason in _rows(gone) if address]


def _runs(runs: Records | None) -> list[ClientRun]:
    return [
        ClientRun(
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
        for time, start, run, outcome, name, tags, user, code, exception_type in _rows(runs)
        if RUN.fullmatch(run) and outcome in OUTCOMES and start <= time
    ]


def _rows(records: Records | None) -> list[tuple[Any, ...]]:
    return [] if records is None else records.rows()
