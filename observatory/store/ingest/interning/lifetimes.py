"""The lifetimes of a cluster's workers, and their lanes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from sys import getsizeof
from typing import Any

import numpy as np
import psycopg

from observatory.store.dask_names import OTHER
from observatory.store.ingest.batches.record_columns import Array, Coded, Times
from observatory.store.ingest.interning.lifetime import Lane, Lifetime
from observatory.store.ingest.source_limits import SOURCE_LIMITS, Rows, SourceLimit
from observatory.store.texts import clean_name
from observatory.store.times import from_seconds
from observatory.wire.event_kinds import CLUSTER_ENDED
from observatory.wire.records import WorkerGone, WorkerSeen

GRACE = 5.0
"""seconds after a worker's end in which spans still belong to it: its end is observed with a delay"""
ADDRESS_SIZE = 200
"""bytes of memory beside the text"""
MOST_LIFETIMES, MOST_LANES = 100_000, 500_000
"""of a cluster; further lifetimes are those of a worker OTHER, further lanes the first of their lifetime"""


class Workers:
    """The lifetimes of one cluster's workers, by clean address."""

    def __init__(self, cluster: int) -> None:
        self.cluster = cluster
        self._by_address: dict[str, list[Lifetime]] = {}
        """each in order of start"""
        self._changed: dict[int, Lifetime] = {}
        self._new_lanes: list[Lane] = []
        self._lifetimes = self._lanes = 0
        """how many the cluster has"""
        self.refused: Counter[str] = Counter()
        """new ones of the last batch that were over a limit"""
        self._size: int | None = 0
        """None: it changed since it was counted"""

    @property
    def size(self) -> int:
        """Bytes of memory, by estimate."""
        if self._size is None:
            self._size = sum(
                ADDRESS_SIZE + getsizeof(address) + sum(lifetime.size for lifetime in lifetimes)
                for address, lifetimes in self._by_address.items()
            )
        return self._size

    def load(self, connection: psycopg.Connection, addresses: Iterable[str]) -> None:
        """Reads the lifetimes and lanes of unknown addresses."""
        unknown = sorted({address for address in addresses if address not in self._by_address})
        if not unknown:
            return
        if OTHER not in self._by_address:
            unknown = sorted({*unknown, OTHER})
            self._read_counts(connection)
        self._by_address.update((address, []) for address in unknown)
        self._size = None
        by_id: dict[int, Lifetime] = {}
        for row in connection.execute(
            """SELECT address, extract(epoch FROM started)::float8, name, host, nthreads, memory_limit,
                      resources::text, detail::text, status,
                      coalesce(extract(epoch FROM ended)::float8, 'Infinity'), end_reason, position, id
               FROM worker WHERE cluster_id = %s AND address = ANY(%s) ORDER BY started, id""",
            [self.cluster, unknown],
        ):
            by_id[row[-1]] = lifetime = Lifetime(*row)
            self._by_address[lifetime.address].append(lifetime)
        query = "SELECT id, worker_id, thread, position FROM lane WHERE worker_id = ANY(%s)"
        for id, worker, thread, position in connection.execute(query, [list(by_id)]):
            by_id[worker].lanes[thread] = Lane(by_id[worker], thread, position, id)

    def _read_counts(self, connection: psycopg.Connection) -> None:
        query = """SELECT (SELECT count(*) FROM worker WHERE cluster_id = %(cluster)s),
                          (SELECT count(*) FROM lane WHERE cluster_id = %(cluster)s)"""
        counts = connection.execute(query, {"cluster": self.cluster}).fetchone()
        self._lifetimes, self._lanes = counts or (0, 0)

    def seen(self, seen: WorkerSeen) -> None:
        address = clean_name(seen.address)
        known = self._described(self._by_address[address], seen)
        if known is not None:
            if known.update(seen):
                self._change(known)
        else:
            lifetime = self._open(address, seen.time)
            if lifetime.address == address:
                lifetime.update(seen)

    def _described(self, lifetimes: list[Lifetime], seen: WorkerSeen) -> Lifetime | None:
        """The lifetime that `seen` describes; None: a new one.

        It can have ended: what a killed process recorded itself is sent by its nanny, after its end.
        """
        of_process = [lifetime for lifetime in lifetimes if not lifetime.is_another_process(seen)]
        for lifetime in reversed(of_process):
            if lifetime.started <= seen.time < lifetime.ended:
                return lifetime
        for lifetime in of_process:
            if seen.time < lifetime.ended:
                return lifetime
        return lifetimes[-1] if lifetimes and math.isinf(lifetimes[-1].ended) else None

    def gone(self, gone: WorkerGone) -> None:
        for lifetime in self._by_address[clean_name(gone.address)][-1:]:
            if math.isinf(lifetime.ended):
                lifetime.ended, lifetime.end_reason = (
                    max(gone.time, lifetime.started),
                    clean_name(gone.reason),
                )
                if lifetime.end_reason != CLUSTER_ENDED:  # else its status is the last that is known
                    lifetime.status = "closed"
                self._change(lifetime)

    def end(self, connection: psycopg.Connection, time: float) -> None:
        """Ends all open lifetimes: the cluster ended."""
        query = "SELECT DISTINCT address FROM worker WHERE cluster_id = %s AND ended IS NULL"
        self.load(connection, [address for (address,) in connection.execute(query, [self.cluster])])
        for address in self._by_address:
            self.gone(WorkerGone(address, time, CLUSTER_ENDED))

    def find(self, address: str, time: float) -> Lifetime | None:
        """The lifetime that a record of `time` belongs to; None: the address is unknown.

        What is later than the last end belongs to the dead process: its nanny still reports.
        """
        lifetimes = self._by_address[address]
        for lifetime in reversed(lifetimes):
            if lifetime.started <= time < lifetime.ended:
                return lifetime
        for lifetime in reversed(lifetimes):
            if time < lifetime.ended + GRACE:
                return lifetime
        return lifetimes[-1] if lifetimes else None

    def ids_at(self, addresses: Coded, times: Times) -> Array:
        """The id of the lifetime that each record belongs to; 0: none."""
        found = [self._by_address[address] if address else [] for address in addresses.values]
        if any(len(lifetimes) > 1 for lifetimes in found):
            return np.fromiter(map(self._id_at, addresses.per_row(), times.tolist()), np.int32, len(times))
        ids = np.array([lifetimes[0].id if lifetimes else 0 for lifetimes in found], np.int32)
        return ids[addresses.codes]

    def _id_at(self, address: str, time: float) -> int:
        lifetime = self.find(address, time) if address else None
        return lifetime.id if lifetime is not None else 0

    def of_span(self, address: str, time: float) -> Lifetime:
        """The lifetime of a span that started at `time`: after a worker's end, that of another process."""
        lifetime = self.at(address, time)
        return self._open(address, time) if time >= lifetime.ended + GRACE else lifetime

    def at(self, address: str, time: float) -> Lifetime:
        """The lifetime that a record of `time` belongs to. Opens one if the address is unknown."""
        lifetime = self.find(address, time) or self._open(address, time)
        if lifetime.end_reason == CLUSTER_ENDED and time >= lifetime.ended + GRACE:
            # the cluster goes on: its agent was silent for a while
            lifetime.ended, lifetime.end_reason = math.inf, ""
            self._change(lifetime)
        if time < lifetime.started and lifetime is self._by_address[lifetime.address][0]:
            # a worker is seen shortly after its start
            lifetime.started = time
            self._change(lifetime)
        return lifetime

    def lane(self, lifetime: Lifetime, thread: int) -> Lane:
        lane = lifetime.lanes.get(thread)
        if lane is None and lifetime.lanes and self._lanes >= MOST_LANES:
            self.refused["threads"] += 1
            return next(iter(lifetime.lanes.values()))
        if lane is None:
            self._lanes += 1
            lane = lifetime.lanes[thread] = Lane(lifetime, thread, len(lifetime.lanes))
            self._new_lanes.append(lane)
            self._size = None
        return lane

    def save(self, connection: psycopg.Connection, limit: SourceLimit | None = None) -> Saved:
        """Stores what is new or changed. Raises TooManyNew and TooManyInBatch."""
        changed = list(self._changed.values())
        self._changed = {}
        new = [lifetime for lifetime in changed if not lifetime.id]
        SOURCE_LIMITS.require(limit, Rows.REFERRED, len(new) + len(self._new_lanes))
        # closed ones first: an address has one open lifetime
        self._update(connection, [lifetime for lifetime in changed if lifetime.id])
        self._insert(connection, new)
        lanes, self._new_lanes = self._new_lanes, []
        self._insert_lanes(connection, lanes)
        return Saved(changed, len(new), lanes)

    def _open(self, address: str, time: float) -> Lifetime:
        if self._lifetimes >= MOST_LIFETIMES and (address != OTHER or self._by_address[OTHER]):
            self.refused["workers"] += 1
            return self.at(OTHER, time)
        self._lifetimes += 1
        lifetime = Lifetime(address, time)
        self._by_address[address].append(lifetime)
        self._change(lifetime)
        return lifetime

    def _change(self, lifetime: Lifetime) -> None:
        self._changed[id(lifetime)] = lifetime
        self._size = None

    def _update(self, connection: psycopg.Connection, lifetimes: list[Lifetime]) -> None:
        if lifetimes:
            connection.cursor().executemany(
                """UPDATE worker SET started = %s, name = %s, host = %s, nthreads = %s, memory_limit = %s,
                       resources = %s, detail = %s, status = %s, ended = %s, end_reason = %s WHERE id = %s""",
                [(*_values(lifetime), lifetime.id) for lifetime in lifetimes],
            )

    def _insert(self, connection: psycopg.Connection, lifetimes: list[Lifetime]) -> None:
        if not lifetimes:
            return
        query = "SELECT coalesce(max(position) + 1, 0) FROM worker WHERE cluster_id = %s"
        (first,) = connection.execute(query, [self.cluster]).fetchone() or (0,)
        for position, lifetime in enumerate(lifetimes, first):
            lifetime.position = position
        cursor = connection.cursor()
        cursor.executemany(
            """INSERT INTO worker (started, name, host, nthreads, memory_limit, resources, detail, status,
                   ended, end_reason, cluster_id, address, position)
               VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
               RETURNING id""",
            [
                (*_values(lifetime), self.cluster, lifetime.address, lifetime.position)
                for lifetime in lifetimes
            ],
            returning=True,
        )
        for lifetime, result in zip(lifetimes, cursor.results(), strict=True):
            (lifetime.id,) = result.fetchone() or (0,)

    def _insert_lanes(self, connection: psycopg.Connection, lanes: list[Lane]) -> None:
        if not lanes:
            return
        by_place = {(lane.lifetime.id, lane.thread): lane for lane in lanes}
        rows = connection.execute(
            """INSERT INTO lane (cluster_id, worker_id, thread, position)
               SELECT %s, * FROM unnest(%s::int[], %s::bigint[], %s::int[])
               RETURNING id, worker_id, thread""",
            [
                self.cluster,
                [lane.lifetime.id for lane in lanes],
                [lane.thread for lane in lanes],
                [lane.position for lane in lanes],
            ],
        )
        for id, worker, thread in rows:
            by_place[worker, thread].id = id


@dataclass(frozen=True, slots=True)
class Saved:
    """What `Workers.save` stored."""

    lifetimes: list[Lifetime]
    """new or changed"""
    opened: int
    lanes: list[Lane]
    """new"""


def all_alive(lifetimes: Iterable[Lifetime], times: Times) -> bool:
    """Whether all of the times lie within each of the lifetimes, which is the rule."""
    if not len(times):
        return True
    first, last = times.min(), times.max()
    return all(lifetime.started <= first and last < lifetime.ended for lifetime in lifetimes)


def _values(lifetime: Lifetime) -> tuple[Any, ...]:
    return (
        _time(lifetime.started),
        lifetime.name,
        lifetime.host,
        lifetime.nthreads,
        lifetime.memory_limit,
        lifetime.resources,
        lifetime.detail,
        lifetime.status,
        None if math.isinf(lifetime.ended) else _time(lifetime.ended),
        lifetime.end_reason,
    )


def _time(seconds: float) -> datetime:
    return from_seconds(seconds)
