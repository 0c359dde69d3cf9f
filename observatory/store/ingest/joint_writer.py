"""Writes batches of several clusters in one transaction: a transaction each costs more than their rows."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence

import psycopg

from observatory.store.connection import is_unavailable
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.batches.validated import ValidatedBatch, validate
from observatory.store.ingest.copying import Copies
from observatory.store.ingest.extent_update import ExtentUpdate, lock, update_extents
from observatory.store.ingest.known_cluster import KnownCluster
from observatory.store.ingest.known_clusters import KNOWN_CLUSTERS
from observatory.store.ingest.publishing.committed import Committed
from observatory.store.ingest.writer import (
    FUTURE,
    TIMEOUTS,
    Stored,
    UnknownOutcome,
    Writer,
    store_records,
    within_limit,
)
from observatory.store.outages.free_space import require_free_space
from observatory.store.queries.agents import with_agent

log = logging.getLogger(__name__)


class JointWriter(Writer):
    """A writer of batches that were scraped. For one thread."""

    def __init__(self) -> None:
        super().__init__()
        self._alone: set[int] = set()
        """clusters whose last batch could not be stored"""

    def forget(self, clusters: Iterable[int]) -> None:
        super().forget(clusters)
        self._alone.difference_update(clusters)

    def write_together(self, batches: Sequence[Batch]) -> list[Committed | Exception]:
        """Stores scraped batches of different clusters: in one transaction, if nothing is in the way.

        Returns what `write` returns of each batch, or the exception that it raises. It is for these batches
        what as many calls of `write` are.
        """
        alone = [batch for batch in batches if self._goes_alone(batch)]
        joint = [batch for batch in batches if batch not in alone]
        found: dict[Batch, Committed | Exception] = {}
        if len(joint) > 1:
            try:
                found |= self._write_jointly(joint)
            except Exception as error:  # each finds by itself what the matter is
                log.info("%d clusters are stored one by one: %r", len(joint), error)
        unavailable: Exception | None = None
        for batch in batches:
            if batch not in found:
                found[batch] = result = unavailable or self._write_alone(batch)
                if isinstance(result, Exception) and is_unavailable(result):
                    unavailable = result  # each attempt to connect could take as long
        return [found[batch] for batch in batches]

    def _goes_alone(self, batch: Batch) -> bool:
        return batch.cluster in self._alone or batch.cluster in self._unknown or batch.head is not None

    def _write_alone(self, batch: Batch) -> Committed | Exception:
        """Those that can't be stored do not go with others again until they can."""
        try:
            committed = self.write(batch)
        except Exception as error:
            self._alone.add(batch.cluster)
            return error
        self._alone.discard(batch.cluster)
        return committed

    def _write_jointly(self, batches: Sequence[Batch]) -> dict[Batch, Committed]:
        """Stores all batches in one transaction, or none. Raises what `_write` raises."""
        require_free_space()
        engine = self._ready()
        connection = self._connection
        assert connection is not None
        pairs = [
            (batch, within_limit(connection, engine, validate(batch, time.time() + FUTURE)))
            for batch in batches
        ]
        for _, validated in pairs:
            for table, days in validated.days():
                engine.prepare(connection, table, days)
        stored: dict[Batch, Stored] = {}
        copies = Copies()
        try:
            with connection.transaction():
                connection.execute(TIMEOUTS)
                for (batch, _), added in zip(
                    pairs, _added(connection, [one for _, one in pairs]), strict=True
                ):
                    stored[batch] = store_records(connection, *added, copies)
                copies.send(connection)
        except BaseException:
            if len(stored) == len(batches):
                for batch, one in stored.items():
                    self._unknown[batch.cluster] = UnknownOutcome(batch, one.committed, one.transaction)
            raise
        for one in stored.values():
            if one.cluster is not None:
                KNOWN_CLUSTERS.keep(one.cluster)
        return {batch: one.committed for batch, one in stored.items()}


def _added(
    connection: psycopg.Connection, batches: Sequence[ValidatedBatch]
) -> list[tuple[ValidatedBatch, ExtentUpdate, KnownCluster | None, bool]]:
    """Adds the batches to the extents of their clusters; returns the arguments of `store_records`.

    Of a cluster that another writer wrote meanwhile nothing is remembered.
    """
    clusters = [batch.cluster for batch in batches]
    written_by = lock(connection, clusters)
    remembered = {
        cluster: known
        for cluster in clusters
        if (known := KNOWN_CLUSTERS.take(cluster)) is not None and known.written_by == written_by.get(cluster)
    }
    others = [
        cluster for cluster in clusters if cluster not in remembered or not remembered[cluster].is_scraped
    ]
    reported = with_agent(connection, others) if others else set()
    batches = [
        batch.without_agents_records() if batch.cluster in reported and not batch.is_agents else batch
        for batch in batches
    ]
    updates = update_extents(connection, batches)
    return [
        (batch, updates[batch.cluster], remembered.get(batch.cluster), batch.cluster in reported)
        for batch in batches
    ]
