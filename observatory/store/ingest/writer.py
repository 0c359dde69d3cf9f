"""The one writer: a batch of records of a cluster in one transaction, each record exactly once."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

import psycopg

from observatory.store.client_runs import store_client_runs
from observatory.store.connection import connect, database_error
from observatory.store.dask_names import OTHER
from observatory.store.engines import Engine, choose
from observatory.store.ingest.agents import delete_scraped, register
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.batches.record_columns import Records
from observatory.store.ingest.batches.validated import ValidatedBatch, validate
from observatory.store.ingest.copying import Copies, copying
from observatory.store.ingest.extent_update import (
    ExtentUpdate,
    add_workers,
    delete_changed_tiles,
    lock,
    update_extent,
)
from observatory.store.ingest.interning.lifetimes import MOST_LANES, MOST_LIFETIMES
from observatory.store.ingest.interning.names import MOST_OF_BATCH, MOST_OF_CLUSTER
from observatory.store.ingest.interning.references import References
from observatory.store.ingest.interning.stacks import MOST_STACKS
from observatory.store.ingest.known_cluster import KnownCluster
from observatory.store.ingest.known_clusters import KNOWN_CLUSTERS
from observatory.store.ingest.late import note_late, note_late_in_runs
from observatory.store.ingest.outcomes import outcome_of, transaction_id
from observatory.store.ingest.publishing.committed import Committed
from observatory.store.ingest.publishing.live import live_events, live_profiles, live_samples, live_spans
from observatory.store.ingest.refused_rows import (
    is_caused_by_data,
    refused_parts,
    with_marks,
    without_parts,
    without_rows,
)
from observatory.store.ingest.source_limits import MOST_NAMES, SOURCE_LIMITS, Rows
from observatory.store.outages.free_space import require_free_space
from observatory.store.queries.agents import has_agent
from observatory.store.queries.extents import read_extent
from observatory.wire.dropped_records import DropReason

log = logging.getLogger(__name__)

FUTURE = 86_400.0
"""seconds ahead of our clock at which a record's time is taken for a mistake"""
LIVE: Mapping[str, tuple[str, Callable[[References, Records], Any]]] = {
    "span": ("spans", live_spans),
    "sample": ("samples", live_samples),
    "event": ("events", live_events),
    "profile": ("profiles", live_profiles),
}
"""by kind: what open pages get of it, as the field of Committed"""
TIMEOUTS = "SELECT set_config('lock_timeout', '20s', true), set_config('statement_timeout', '2min', true)"
"""of a batch's transaction: others wait for the writer that it holds. A pooler's sessions are of all"""


class Overtaken(Exception):
    """Another writer wrote since: what was remembered of the cluster may be wrong."""


@dataclass(frozen=True, slots=True)
class UnknownOutcome:
    """A batch whose transaction may be committed: the connection broke before the answer arrived."""

    batch: Batch
    committed: Committed
    transaction: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """One of several to store a batch."""

    original: Batch
    """what was to be stored at first, with the rows that this attempt is without"""
    is_trial: bool = False
    """it is rolled back"""
    remembers: bool = True
    """it uses what is known of the cluster"""


@dataclass(frozen=True, slots=True)
class Stored:
    """A batch that was stored by a transaction that is not committed yet."""

    committed: Committed
    transaction: str
    cluster: KnownCluster | None
    """what is known of the cluster after the transaction"""


class Writer:
    """Stores batches. For one thread; use it in a `with`. Connects when needed, and again after an error."""

    def __init__(self) -> None:
        self._connection: psycopg.Connection | None = None
        self._engine: Engine | None = None
        self._unknown: dict[int, UnknownOutcome] = {}
        """by cluster"""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def forget(self, clusters: Iterable[int]) -> None:
        """Frees what is remembered of clusters of which no batches come any more."""
        for cluster in clusters:
            KNOWN_CLUSTERS.take(cluster)
            self._unknown.pop(cluster, None)

    def write(self, batch: Batch) -> Committed:
        """Stores the batch, all of it or nothing, without the rows that the database refuses.

        An event of the same transaction reports those rows. A batch that failed may be written again: it is
        stored once, also when the connection broke during its commit. Raises psycopg.Error, AgentRefused,
        or what encoding raises, for all that is not the fault of single rows, TooManyNew when its source has
        to wait, and TooManyInBatch.
        """
        try:
            return self._write_knowing(batch, Attempt(batch))
        except Exception as error:
            if not is_caused_by_data(error):
                if database_error(error) is not None:
                    # the session may be read-only for good: it began in an outage, or is a former primary's
                    self.close()
                raise
            rest, refused = self._without_refused(batch, error)
        return replace(self._write_knowing(rest, Attempt(batch)), dropped=refused)

    def _without_refused(self, batch: Batch, error: Exception) -> tuple[Batch, Counter[str]]:
        """The batch without the rows that are refused, and their number by kind.

        Raises `error` if they are not what is wrong.
        """

        def is_accepted(some: Batch) -> bool:
            try:
                self._write_knowing(some, Attempt(some, is_trial=True, remembers=False))
            except Exception as found:
                if not is_caused_by_data(found):
                    raise
                return False
            return True

        refused = refused_parts(batch, is_accepted) if is_accepted(without_rows(batch)) else []
        if not refused:
            raise error
        counts: Counter[str] = Counter()
        for part in refused:
            counts[part.kind] += len(part)
        reason = " ".join(str(error).split())[:300]
        log.error("cluster %d: the database refused %s: %s", batch.cluster, dict(counts), reason)
        rest = without_parts(batch, refused)
        return with_marks(rest, batch, refused, DropReason.DATABASE_REFUSED), counts

    def _write_knowing(self, batch: Batch, attempt: Attempt) -> Committed:
        """Writes the batch; again if what was remembered of its cluster, days or connection was wrong."""
        try:
            return self._write_twice(batch, attempt)
        except Overtaken:
            # everything is read from the store this time, whatever the other writer remembers
            return self._write_twice(batch, replace(attempt, remembers=False))

    def _write_twice(self, batch: Batch, attempt: Attempt) -> Committed:
        try:
            return self._write(batch, attempt)
        except psycopg.errors.CheckViolation:
            # retention dropped a partition that was prepared
            self._ready().forget()
        except psycopg.OperationalError:
            if self._connection is None or not self._connection.closed:
                raise
        return self._write(batch, attempt)

    def _write(self, batch: Batch, attempt: Attempt) -> Committed:
        require_free_space()
        engine = self._ready()
        connection = self._connection
        assert connection is not None
        if (settled := self._settle(connection, attempt.original)) is not None:
            return settled
        validated = within_limit(connection, engine, validate(batch, time.time() + FUTURE))
        for table, days in validated.days():
            engine.prepare(connection, table, days)
        if attempt.is_trial:
            validated = replace(validated, limit=None)  # its names are counted when they are stored
        # it is forgotten if this fails: the ids of a transaction that is rolled back don't exist
        remembered = KNOWN_CLUSTERS.take(batch.cluster) if attempt.remembers else None
        stored: Stored | None = None
        try:
            with connection.transaction(force_rollback=attempt.is_trial):
                connection.execute(TIMEOUTS)
                stored = self._store(connection, validated, remembered)
                if attempt.is_trial:
                    connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        except BaseException:
            if stored is not None and not attempt.is_trial:
                unknown = UnknownOutcome(attempt.original, stored.committed, stored.transaction)
                self._unknown[batch.cluster] = unknown
            raise
        if stored.cluster is not None and not attempt.is_trial:
            KNOWN_CLUSTERS.keep(stored.cluster)
        return stored.committed

    def _ready(self) -> Engine:
        if self._connection is None or self._connection.closed or self._engine is None:
            self._connection = None
            self._connection = connect()
            self._engine = choose(self._connection)
        return self._engine

    def _settle(self, connection: psycopg.Connection, batch: Batch) -> Committed | None:
        """What the batch's broken commit stored, if it was committed."""
        unknown = self._unknown.get(batch.cluster)
        if unknown is None:
            return None
        outcome = outcome_of(connection, unknown.transaction) if unknown.batch is batch else None
        del self._unknown[batch.cluster]
        return unknown.committed if outcome == "committed" else None

    def _store(
        self, connection: psycopg.Connection, batch: ValidatedBatch, remembered: KnownCluster | None
    ) -> Stored:
        """Stores the batch in the transaction that was begun."""
        is_reported = False
        if batch.head is None and remembered is not None and remembered.is_scraped:
            update = update_extent(connection, batch)
            if remembered.written_by != update.written_by_before:
                raise Overtaken  # the other writer may be an agent's
        else:
            if batch.head is not None:
                is_reported = True
                result = register(connection, [batch])[batch.cluster]
                if result.already:
                    return stored_before(connection, batch.cluster, remembered)
                if result.is_joint:
                    if result.is_first:
                        delete_scraped(connection, self._ready(), batch.cluster, batch.head.since)
                    batch = batch.without_earlier_spans(batch.head.since)
            else:
                lock(connection, [batch.cluster])
                is_reported = has_agent(connection, batch.cluster)
                if is_reported and not batch.is_agents:
                    batch = batch.without_agents_records()
            update = update_extent(connection, batch)
        return store_records(connection, batch, update, remembered, is_reported)


def within_limit(connection: psycopg.Connection, engine: Engine, batch: ValidatedBatch) -> ValidatedBatch:
    """The batch without records of new days that its source may not make. Raises TooManyNew."""
    if batch.limit is None:
        return batch
    missing = {day for table, days in batch.days() for day in engine.missing(connection, table, days)}
    refused = missing - SOURCE_LIMITS.permit_days(batch.limit, missing) if missing else missing
    return batch.without_days(refused) if refused else batch


def stored_before(connection: psycopg.Connection, cluster: int, remembered: KnownCluster | None) -> Stored:
    """The result for an agent's batch that was stored by an earlier transaction."""
    found = read_extent(connection, cluster)
    assert found is not None, "an agent's batch was stored"
    return Stored(Committed(found, already=True, agent_rules=True), transaction_id(connection), remembered)


def store_records(
    connection: psycopg.Connection,
    batch: ValidatedBatch,
    update: ExtentUpdate,
    remembered: KnownCluster | None,
    is_reported: bool,
    copies: Copies | None = None,
) -> Stored:
    """Stores the records of a batch that was added to its cluster's extent, and what they refer to.

    `is_reported`: an agent reports of the cluster. The rows are added to `copies`, if that is given, and sent
    by the caller.
    """
    is_current = remembered is not None and remembered.written_by == update.written_by_before
    cluster = remembered if remembered is not None and is_current else KnownCluster(batch.cluster)
    cluster.written_by, cluster.is_scraped = update.written_by, not is_reported
    committed = _store_records(connection, cluster, batch, update, copies)
    return Stored(replace(committed, agent_rules=is_reported), update.transaction, cluster)


def _store_records(
    connection: psycopg.Connection,
    cluster: KnownCluster,
    batch: ValidatedBatch,
    update: ExtentUpdate,
    copies: Copies | None,
) -> Committed:
    """Stores the records and what they refer to."""
    records = batch.records
    cluster.update_lifetimes(connection, batch.workers, batch.gone)
    references = References(connection, cluster)
    references.load_workers(records)
    end = update.extent.last if batch.head and batch.head.is_last else batch.cluster_end
    if end is not None:
        cluster.workers.end(connection, end)
    saved = cluster.workers.save(connection, batch.limit)
    prefixes = references.intern(records, batch.limit)
    series = cluster.series.save(connection, batch.limit)
    live = _copy(connection, references, records) if copies is None else _add(copies, references, records)
    SOURCE_LIMITS.require(batch.limit, Rows.RUNS, len(batch.runs))
    store_client_runs(connection, batch.cluster, batch.runs)
    note_late(connection, batch, update.committed_before)
    note_late_in_runs(connection, batch)
    if update.late_before is not None:
        delete_changed_tiles(connection, batch, update.late_before)
    return Committed(
        extent=add_workers(connection, batch.cluster, saved.opened) if saved.opened else update.extent,
        refused=batch.refused,
        reasons=[*batch.reasons, *_refused(cluster)],
        workers=[lifetime.item() for lifetime in saved.lifetimes],
        lanes=[lane.item() for lane in saved.lanes],
        prefixes=[prefix.item() for prefix in prefixes],
        series=[known.item() for known in series if known.layer],
        **live,
    )


def _refused(cluster: KnownCluster) -> list[str]:
    """What new names, workers, threads and stacks were over a limit, in parts of a sentence."""
    reasons = []
    if refused := cluster.names.refused:
        reasons.append(
            f"{refused} new names are stored as {OTHER!r}: a batch may have {MOST_OF_BATCH} of them, its "
            f"project {MOST_NAMES} an hour, and a cluster {MOST_OF_CLUSTER} prefixes, groups and types each"
        )
    if cluster.workers.refused["workers"]:
        reasons.append(f"records of new workers are those of {OTHER!r}: a cluster may have {MOST_LIFETIMES}")
    if cluster.workers.refused["threads"]:
        reasons.append(f"new threads are stored as their worker's first: a cluster may have {MOST_LANES}")
    if refused := cluster.stacks.refused:
        reasons.append(f"{refused} new stacks are stored as {OTHER!r}: a cluster may have {MOST_STACKS}")
    return reasons


def _copy(
    connection: psycopg.Connection, references: References, records: Mapping[str, Records]
) -> dict[str, Any]:
    """Copies the records into their tables. Returns what open pages get, by the field of Committed."""
    live: dict[str, Any] = {}
    # while the server stores many rows, the columns of fewer are made
    largest_first = sorted(records.items(), key=lambda item: -len(item[1]))
    tables = (references.table_columns(some) for _, some in largest_first)
    columns = next(tables, {})
    for kind, some in largest_first:
        with copying(connection, kind, len(some), columns):
            # while the server stores these rows
            columns = next(tables, {})
            if kind in LIVE:
                field, live_columns = LIVE[kind]
                live[field] = live_columns(references, some)
    return live


def _add(copies: Copies, references: References, records: Mapping[str, Records]) -> dict[str, Any]:
    """Adds the records to those of other batches; returns what `_copy` does."""
    live: dict[str, Any] = {}
    for kind, some in records.items():
        copies.add(kind, len(some), references.table_columns(some))
        if kind in LIVE:
            field, live_columns = LIVE[kind]
            live[field] = live_columns(references, some)
    return live
