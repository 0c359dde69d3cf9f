"""Finds the rows of a batch that the database refuses, so that one bad row costs one row.

Only what the data itself causes is refused. Any other error is the database's or ours: the batch waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import psycopg

from observatory.store.connection import database_error
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.batches.record_columns import Times, joined, records_of_rows
from observatory.wire.dropped_records import DropReason, dropped_detail
from observatory.wire.event_kinds import RECORDS_DROPPED
from observatory.wire.kinds import KINDS
from observatory.wire.records import ClientRun, WorkerGone, WorkerSeen

DATA_STATES = ("22", "23", "54")
"""PostgreSQL's classes of errors of values, of constraints, and of limits that a value exceeds"""
MOST_TRIALS = 1_000
"""parts of a batch that are tried; parts that failed by then are refused as a whole"""

Row = TypeVar("Row")


def is_caused_by_data(error: BaseException) -> bool:
    """Whether a batch fails because of what is in it, so that it would fail again."""
    found = database_error(error)
    if found is None:
        return isinstance(error, ValueError | TypeError | OverflowError)  # raised by encoding
    if found.sqlstate is None:
        return isinstance(found, psycopg.DataError)  # psycopg's own: it could not encode a value
    if isinstance(found, psycopg.errors.CheckViolation) and not found.diag.constraint_name:
        return not found.diag.table_name  # otherwise a partition of that table is missing
    return found.sqlstate.startswith(DATA_STATES)


@dataclass(frozen=True, slots=True)
class Part:
    """Successive rows of one kind."""

    kind: str
    first: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.first

    def halves(self) -> tuple[Part, Part]:
        middle = (self.first + self.stop) // 2
        return Part(self.kind, self.first, middle), Part(self.kind, middle, self.stop)


def refused_parts(batch: Batch, is_accepted: Callable[[Batch], bool]) -> list[Part]:
    """The parts that the database refuses: single rows, as far as MOST_TRIALS allows."""
    waiting = deque(_whole(batch))
    refused: list[Part] = []
    for _ in range(MOST_TRIALS):
        if not waiting:
            return refused
        part = waiting.popleft()
        if is_accepted(_only(batch, part)):
            continue
        if len(part) == 1:
            refused.append(part)
        else:
            waiting.extend(part.halves())
    return [*refused, *waiting]


def without_rows(batch: Batch) -> Batch:
    """What remains of a batch when it loses all of its rows."""
    return replace(batch, records={}, workers=(), gone=(), runs=(), refused=0)


def set_aside(batch: Batch, reason: DropReason) -> tuple[Batch, Batch]:
    """A batch that is not stored, and what is stored in its place: its head, and an event for each kind.

    Reports of other losses are stored.
    """
    lost, rest = batch, without_rows(batch)
    if "event" in batch.records:
        events = batch.records["event"]
        reports = events.coded("kind").numbers(lambda kind: kind == RECORDS_DROPPED, np.bool_)
        rest = replace(rest, records={"event": events.where(reports)} if reports.any() else {})
        places: list[int] = np.flatnonzero(reports).tolist()
        lost = without_parts(batch, [Part("event", place, place + 1) for place in places])
    return lost, with_marks(rest, lost, _whole(lost), reason)


def without_parts(batch: Batch, parts: Iterable[Part]) -> Batch:
    """The batch without these rows."""
    kept = {part.kind: np.ones(len(part), np.bool_) for part in _whole(batch)}
    for part in parts:
        kept[part.kind][part.first : part.stop] = False
    records = {kind: records.where(kept[kind]) for kind, records in batch.records.items()}
    return replace(
        batch,
        records={kind: some for kind, some in records.items() if len(some)},
        workers=_where(batch.workers, kept.get("worker")),
        gone=_where(batch.gone, kept.get("gone")),
        runs=_where(batch.runs, kept.get("run")),
    )


def with_marks(batch: Batch, lost: Batch, parts: Iterable[Part], reason: DropReason) -> Batch:
    """The batch with an event for each kind of rows of `lost` that it is without: stored or lost with it."""
    times: dict[str, list[Times]] = {}
    for part in parts:
        times.setdefault(part.kind, []).append(_times(lost, part.kind)[part.first : part.stop])
    rows = []
    for kind, found in times.items():
        some = np.concatenate(found)
        first, last = float(some.min()), float(some.max())
        rows.append((first, RECORDS_DROPPED, "", dropped_detail(kind, len(some), reason, first, last)))
    marks = records_of_rows(KINDS["event"], rows)
    if "event" in batch.records:
        marks = joined([batch.records["event"], marks])
    return replace(batch, records={**batch.records, "event": marks})


def _whole(batch: Batch) -> Iterator[Part]:
    for kind, records in batch.records.items():
        yield Part(kind, 0, len(records))
    for kind, rows in (("worker", batch.workers), ("gone", batch.gone), ("run", batch.runs)):
        if rows:
            yield Part(kind, 0, len(rows))


def _only(batch: Batch, part: Part) -> Batch:
    others = [other for other in _whole(batch) if other.kind != part.kind]
    whole = next(other for other in _whole(batch) if other.kind == part.kind)
    before, after = Part(part.kind, 0, part.first), Part(part.kind, part.stop, whole.stop)
    return without_parts(replace(batch, refused=0), [*others, before, after])


def _where(rows: Sequence[Row], kept: np.ndarray | None) -> Sequence[Row]:
    return rows if kept is None else [row for row, is_kept in zip(rows, kept, strict=True) if is_kept]


def _times(batch: Batch, kind: str) -> Times:
    if kind in batch.records:
        return batch.records[kind].stops
    changes: dict[str, Sequence[WorkerSeen | WorkerGone | ClientRun]] = {
        "worker": batch.workers,
        "gone": batch.gone,
        "run": batch.runs,
    }
    return np.array([row.time for row in changes[kind]], np.float64)
