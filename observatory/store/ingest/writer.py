"""The one writer: a batch of records of a cluster in one transaction, each record exactly once."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import psycopg

from observatory.store.connection import connect
from observatory.store.engines import Engine, choose
from observatory.store.ingest.agent_rows import Recorder
from observatory.store.ingest.agents import arrive, rules, take_over
from observatory.store.ingest.client_runs import note
from observatory.store.ingest.committed import Committed
from observatory.store.ingest.extent_update import add_workers, drop_built, grow, newest
from observatory.store.ingest.known_cluster import Cluster
from observatory.store.ingest.late import note_late
from observatory.store.ingest.rows import copy_events, copy_samples, copy_spans
from observatory.store.ingest.validated import Accepted, accept
from observatory.store.queries.extents import read_extent
from observatory.wire.records import Batch

FUTURE = 86_400.0
"""seconds ahead of our clock at which a record's time is taken for a mistake"""
MAXIMUM_KNOWN = 500_000
"""interned things of one cluster that are remembered; beyond it they are read from the store again"""
MAXIMUM_CLUSTERS = 1_000
OUTCOME_TIMEOUT = 5.0
"""seconds that a transaction whose connection broke may go on"""


class Overtaken(Exception):
    """Another writer was there since, so that what was remembered of the cluster may not hold."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A batch whose transaction may be committed: the connection broke before the answer came."""

    batch: Batch
    committed: Committed
    transaction: str


class Writer:
    """Stores batches. For one thread; use it in a `with`. Connects when it is needed, again when it broke."""

    def __init__(self) -> None:
        self._connection: psycopg.Connection | None = None
        self._engine: Engine | None = None
        self._clusters: dict[int, Cluster] = {}
        self._doubts: dict[int, Doubt] = {}
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

    def write(self, batch: Batch) -> Committed:
        """Stores the batch, all of it or nothing.

        A batch that failed may be written again: it is stored once, also when the connection broke during its
        commit. Raises psycopg.OperationalError when the database can't be reached.
        """
        try:
            return self._write_twice(batch)
        except Overtaken:
            # the cluster is forgotten: nothing is taken for known this time
            return self._write_twice(batch)

    def _write_twice(self, batch: Batch) -> Committed:
        try:
            return self._write(batch)
        except psycopg.errors.CheckViolation:
            # retention dropped a partition that we had made ready
            self._ready().forget()
        except psycopg.OperationalError:
            if self._connection is None or not self._connection.closed:
                raise
        return self._write(batch)

    def _write(self, batch: Batch) -> Committed:
        engine = self._ready()
        connection = self._connection
        assert connection is not None
        if (settled := self._settle(connection, batch)) is not None:
            return settled
        accepted = accept(batch, time.time() + FUTURE)
        for table, days in accepted.days():
            engine.prepare(connection, table, days)
        outcome: tuple[Committed, str] | None = None
        try:
            with connection.transaction():
                outcome = self._store(connection, accepted)
        except BaseException:
            # ids that were given in a transaction that is rolled back don't exist
            self._clusters.pop(batch.cluster, None)
            if outcome is not None:
                self._doubts[batch.cluster] = Doubt(batch, *outcome)
            raise
        return outcome[0]

    def _ready(self) -> Engine:
        if self._connection is None or self._connection.closed or self._engine is None:
            self._connection = None
            self._connection = connect()
            self._engine = choose(self._connection)
        return self._engine

    def _settle(self, connection: psycopg.Connection, batch: Batch) -> Committed | None:
        """What the batch's broken commit stored, if it did."""
        doubt = self._doubts.get(batch.cluster)
        if doubt is None:
            return None
        outcome = _outcome(connection, doubt.transaction) if doubt.batch is batch else None
        del self._doubts[batch.cluster]
        return doubt.committed if outcome == "committed" else None

    def _cluster(self, cluster: int, stamp: str) -> Cluster:
        known = self._clusters.get(cluster)
        if known is None or known.stamp != stamp or len(known) > MAXIMUM_KNOWN:
            if len(self._clusters) >= MAXIMUM_CLUSTERS:
                self._clusters.clear()
            known = self._clusters[cluster] = Cluster(cluster)
        return known

    def _store(self, connection: psycopg.Connection, accepted: Accepted) -> tuple[Committed, str]:
        agent_rules = True
        remembered = self._clusters.get(accepted.cluster)
        is_stock = accepted.head is None and remembered is not None and remembered.is_stock
        if accepted.head is not None:
            arrival = arrive(connection, accepted.cluster, accepted.head, newest(accepted))
            if arrival.already:
                found = read_extent(connection, accepted.cluster)
                assert found is not None, "an agent's batch was stored"
                return Committed(found, already=True, agent_rules=True), _transaction(connection)
            if arrival.is_joint:
                if arrival.is_first:
                    take_over(connection, self._ready(), accepted.cluster, accepted.head.since)
                accepted = accepted.after_stock(accepted.head.since)
        elif is_stock:
            agent_rules = False
        elif agent_rules := rules(connection, accepted.cluster):
            accepted = accepted.by_stock()
        growth = grow(connection, accepted)
        if is_stock and remembered is not None and remembered.stamp != growth.stamp_before:
            raise Overtaken  # an agent may be among them
        cluster = self._cluster(accepted.cluster, growth.stamp_before)
        cluster.stamp, cluster.is_stock = growth.stamp, not agent_rules
        cluster.live_and_die(connection, accepted)
        lanes = cluster.lanes_of(connection, accepted.spans)
        series = cluster.series.find(connection, accepted.samples, cluster.workers)

        saved = cluster.workers.save(connection)
        recorder = Recorder(connection, accepted, cluster.workers, cluster.names, cluster.stacks)
        new_prefixes = cluster.names.intern(connection, accepted.spans) + recorder.intern()
        new_series = cluster.series.save(connection)
        spans = copy_spans(connection, accepted.cluster, accepted.spans, lanes, cluster.names)
        samples = copy_samples(connection, accepted.cluster, accepted.samples, series)
        events = copy_events(connection, accepted, cluster.workers)
        recorder.store()
        note(connection, accepted.cluster, accepted.runs)
        note_late(connection, accepted, growth.committed_before)
        if growth.late_before is not None:
            drop_built(connection, accepted, growth.late_before)
        opened = saved.opened
        committed = Committed(
            extent=add_workers(connection, accepted.cluster, opened) if opened else growth.extent,
            agent_rules=agent_rules,
            refused=accepted.refused,
            workers=[lifetime.item() for lifetime in saved.lifetimes],
            lanes=[lane.item() for lane in saved.lanes],
            prefixes=[prefix.item() for prefix in new_prefixes],
            series=[known.item() for known in new_series if known.layer],
            spans=spans,
            samples=samples,
            events=events,
            profile=recorder.profile,
        )
        return committed, growth.transaction


def _transaction(connection: psycopg.Connection) -> str:
    """What pg_xact_status knows the transaction at hand by."""
    row = connection.execute("SELECT pg_current_xact_id()::text").fetchone()
    return str(row[0]) if row else ""


def _outcome(connection: psycopg.Connection, transaction: str) -> str | None:
    """What became of a transaction whose connection broke; None where nobody knows any more."""
    deadline = time.monotonic() + OUTCOME_TIMEOUT
    while True:
        row = connection.execute("SELECT pg_xact_status(%s::xid8)", [transaction]).fetchone()
        status = None if row is None else row[0]
        if status != "in progress" or time.monotonic() > deadline:
            return status
        time.sleep(0.05)
