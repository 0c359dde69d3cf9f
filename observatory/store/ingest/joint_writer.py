"""Writes batches of several clusters in one transaction: a transaction each costs more than their rows."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sequence

import psycopg
from cachetools import LRUCache

from observatory.store.connection import is_unavailable
from observatory.store.ingest.agents import Registered, register
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.batches.validated import ValidatedBatch, validate
from observatory.store.ingest.copying import Copies
from observatory.store.ingest.extent_update import lock, update_extents
from observatory.store.ingest.known_clusters import KNOWN_CLUSTERS
from observatory.store.ingest.publishing.committed import Committed
from observatory.store.ingest.writer import (
    FUTURE,
    TIMEOUTS,
    Stored,
    UnknownOutcome,
    Writer,
    store_records,
    stored_before,
    within_limit,
)
from observatory.store.outages.free_space import require_free_space
from observatory.store.queries.agents import with_agent

log = logging.getLogger(__name__)

MOST_ALONE = 10_000


class GoesAlone(Exception):
    """A batch whose cluster takes longer than others may wait for."""


class JointWriter(Writer):
    """A writer of several batches at a time. For one thread."""

    def __init__(self) -> None:
        super().__init__()
        self._alone: LRUCache[int, bool] = LRUCache(MOST_ALONE)
        """clusters whose last batch could not be stored"""

    def forget(self, clusters: Iterable[int]) -> None:
        super().forget(clusters)
        for cluster in clusters:
            self._alone.pop(cluster, None)

    def write_together(self, batches: Sequence[Batch]) -> list[Committed | Exception]:
        """Stores batches in one transaction, if nothing is in the way: the first one of each cluster.

        Returns what `write` returns of each batch, or the exception that it raises. It is for these batches
        what as many calls of `write` are.
        """
        first = {batch.cluster: batch for batch in reversed(batches)}
        joint = [batch for batch in batches if batch is first[batch.cluster] and not self._goes_alone(batch)]
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
        return batch.cluster in self._alone or batch.cluster in self._unknown

    def _write_alone(self, batch: Batch) -> Committed | Exception:
        """Those that can't be stored do not go with others again until they can."""
        try:
            committed = self.write(batch)
        except Exception as error:
            self._alone[batch.cluster] = True
            return error
        self._alone.pop(batch.cluster, None)
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
        try:
            with connection.transaction():
                connection.execute(TIMEOUTS)
                for (batch, _), one in zip(
                    pairs, _stored(connection, [one for _, one in pairs]), strict=True
                ):
                    stored[batch] = one
        except BaseException:
            if len(stored) == len(batches):
                for batch, one in stored.items():
                    self._unknown[batch.cluster] = UnknownOutcome(batch, one.committed, one.transaction)
            raise
        for one in stored.values():
            if one.cluster is not None:
                KNOWN_CLUSTERS.keep(one.cluster)
        return {batch: one.committed for batch, one in stored.items()}


def _stored(connection: psycopg.Connection, batches: Sequence[ValidatedBatch]) -> Iterator[Stored]:
    """Stores batches of different clusters in the transaction that was begun.

    Of a cluster that another writer wrote meanwhile nothing is remembered.
    """
    registered = register(connection, [batch for batch in batches if batch.head is not None])
    if any(one.is_first and one.is_joint for one in registered.values()):
        raise GoesAlone("what was scraped of it is deleted with its agent's first batch")
    clusters = [batch.cluster for batch in batches]
    written_by = lock(connection, clusters)
    remembered = {
        cluster: known
        for cluster in clusters
        if (known := KNOWN_CLUSTERS.take(cluster)) is not None and known.written_by == written_by.get(cluster)
    }
    others = [
        cluster
        for cluster in clusters
        if cluster not in registered and (cluster not in remembered or not remembered[cluster].is_scraped)
    ]
    reported = {*registered, *(with_agent(connection, others) if others else ())}
    new = [
        _without_what_is_stored(batch, registered.get(batch.cluster), batch.cluster in reported)
        for batch in batches
        if not (batch.cluster in registered and registered[batch.cluster].already)
    ]
    updates = update_extents(connection, new)
    copies = Copies()
    stored = {
        batch.cluster: store_records(
            connection,
            batch,
            updates[batch.cluster],
            remembered.get(batch.cluster),
            batch.cluster in reported,
            copies,
        )
        for batch in new
    }
    copies.send(connection)
    for cluster in clusters:
        yield stored.get(cluster) or stored_before(connection, cluster, remembered.get(cluster))


def _without_what_is_stored(
    batch: ValidatedBatch, registered: Registered | None, is_reported: bool
) -> ValidatedBatch:
    """Without the records that the cluster's other source has stored, or stores."""
    if registered is not None and batch.head is not None:
        return batch.without_earlier_spans(batch.head.since) if registered.is_joint else batch
    return batch.without_agents_records() if is_reported and not batch.is_agents else batch
