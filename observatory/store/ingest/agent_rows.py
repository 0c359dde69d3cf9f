"""Rows of the kinds that only an agent tells, as rows of their tables."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any, LiteralString

import psycopg

from observatory.store.ingest.committed import StoredProfile
from observatory.store.ingest.lifetimes import Workers
from observatory.store.ingest.names import Names, Prefix
from observatory.store.ingest.validated import Accepted
from observatory.store.keys import GROUP_PLACEHOLDER, split_key
from observatory.store.schema.time_series import RECORDED
from observatory.store.stacks import Stacks
from observatory.store.texts import LARGEST_INTEGER, clean_json, clean_name
from observatory.store.times import from_seconds
from observatory.wire.kinds import KINDS, Type
from observatory.wire.records import ROLES, TASK_STATES, clean_key

SOURCES = ("task", "event-loop")
UNKNOWN_SOURCE = 255
NOT_A_WORKER, NO_PREFIX = -1, 0
"""of a profile's rows: the scheduler's, the event loop's"""
GROUP_FIELDS = {"group_dependency": ("group", "depends_on")}
"""fields of type key that hold the name of a group"""
STATE_CODES = {state: code for code, state in enumerate(TASK_STATES)}
LARGEST_INT2, LARGEST_INT4 = 2**15 - 1, 2**31 - 1

Columns = tuple[Any, ...]


class Recorder:
    """Stores the rows of one batch. Times are the scheduler's."""

    def __init__(
        self,
        connection: psycopg.Connection,
        accepted: Accepted,
        workers: Workers,
        names: Names,
        stacks: Stacks,
    ) -> None:
        self.connection = connection
        self.accepted = accepted
        self.cluster = accepted.cluster
        self.workers = workers
        self.names = names
        self.stacks = stacks
        self.profile: list[StoredProfile] = []
        """what was stored of it"""
        self._places: dict[str, tuple[int, str]] = {}

    def intern(self) -> list[Prefix]:
        """Makes the names in the rows known; returns the prefixes that are new to the store."""
        prefix_of: dict[str, str] = {}
        prefixes: set[str] = set()
        for kind, rows in self.accepted.rows.items():
            for index, field in enumerate(KINDS[kind].fields):
                values = {row[index] for row in rows} if field.type is Type.KEY else ()
                is_group = field.name in GROUP_FIELDS.get(kind, ())
                for key in values:
                    prefix, group = split_key(key)
                    prefix_of[key if is_group else group] = prefix
                if kind == "profile" and field.name == "prefix":
                    prefixes |= {row[index] for row in rows} - {""}
        new = self.names.intern_prefixes(self.connection, prefixes | set(prefix_of.values()))
        self.names.intern_groups(self.connection, prefix_of)
        return new

    def store(self) -> None:
        self._load_workers()
        for kind, rows in self.accepted.rows.items():
            names, made = MAKERS[kind](self, rows)
            with (
                self.connection.cursor() as cursor,
                cursor.copy(f"COPY {RECORDED[kind].name} (cluster_id, {names}) FROM STDIN") as copy,
            ):
                for row in made:
                    copy.write_row((self.cluster, *row))

    def _load_workers(self) -> None:
        addresses: set[str] = set()
        for kind, rows in self.accepted.rows.items():
            names = KINDS[kind].names
            if "worker" in names:
                index = names.index("worker")
                addresses |= {clean_name(row[index]) for row in rows}
        self.workers.load(self.connection, addresses)

    def _worker(self, address: str, time: float) -> int | None:
        lifetime = self.workers.find(clean_name(address), time) if address else None
        return lifetime.id if lifetime is not None else None

    def _place(self, key: str) -> tuple[int, str]:
        """(group's id, what is left of the key)"""
        place = self._places.get(key)
        if place is None:
            group = self.names.groups[split_key(key)[1]]
            rest = clean_key(key).replace(group.text or GROUP_PLACEHOLDER, GROUP_PLACEHOLDER, 1)
            place = self._places[key] = (group.id, rest)
        return place

    def transitions(self, rows: list[Columns]) -> tuple[LiteralString, Iterator[Columns]]:
        names: LiteralString = "time, group_id, key_rest, start, finish, worker_id, stimulus"
        return names, (
            (
                from_seconds(time),
                *self._place(key),
                STATE_CODES.get(start, -1),
                STATE_CODES.get(finish, -1),
                self._worker(worker, time),
                stimulus,
            )
            for time, key, start, finish, worker, stimulus in rows
        )

    def errors(self, rows: list[Columns]) -> tuple[LiteralString, Iterator[Columns]]:
        names: LiteralString = (
            "time, id, prefix_id, group_id, key_rest, worker_id, outcome, exception_type, message, "
            "traceback, retries, workers, dependents"
        )
        return names, (
            (
                from_seconds(time),
                uuid.uuid4(),
                self.names.prefixes[split_key(key)[0]].id,
                *self._place(key),
                self._worker(worker, time),
                outcome,
                kind,
                message,
                traceback,
                min(retries, LARGEST_INT4),
                clean_json(workers),
                min(dependents, LARGEST_INT4),
            )
            for time, key, worker, outcome, kind, message, traceback, retries, workers, dependents in rows
        )

    def logs(self, rows: list[Columns]) -> tuple[LiteralString, Iterator[Columns]]:
        names: LiteralString = "time, role, worker_id, level, logger, message, traceback, pid"
        return names, (
            (
                from_seconds(time),
                ROLES.index(role) if role in ROLES else -1,
                self._worker(worker, time),
                _small(level),
                logger,
                message,
                traceback,
                pid,
            )
            for time, role, worker, level, logger, message, traceback, pid in rows
        )

    def computations(self, rows: list[Columns]) -> tuple[LiteralString, Iterator[Columns]]:
        return "time, computation, client, code, groups, annotations, spans", (
            (from_seconds(time), id, client, code, *map(clean_json, told))
            for time, id, client, code, *told in rows
        )

    def group_dependencies(self, rows: list[Columns]) -> tuple[LiteralString, Iterator[Columns]]:
        groups = self.names.groups
        return "time, computation, group_id, depends_on_id, edges", (
            (from_seconds(time), id, groups[group].id, groups[needed].id, edges)
            for time, id, group, needed, edges in rows
        )

    def dependencies(self, rows: list[Columns]) -> tuple[LiteralString, Iterator[Columns]]:
        names: LiteralString = "time, computation, group_id, key_rest, depends_on_group_id, depends_on_rest"
        return names, (
            (from_seconds(time), id, *self._place(key), *self._place(needed))
            for time, id, key, needed in rows
        )

    def tasks(self, rows: list[Columns]) -> tuple[LiteralString, Iterator[Columns]]:
        names: LiteralString = (
            "time, computation, group_id, key_rest, priority, retries, annotations, resources"
        )
        return names, (
            (
                from_seconds(time),
                id,
                *self._place(key),
                priority,
                retries,
                clean_json(noted),
                clean_json(needed),
            )
            for time, id, key, priority, retries, noted, needed in rows
        )

    def profiles(self, rows: list[Columns]) -> tuple[LiteralString, Iterator[Columns]]:
        stacks = self.stacks.intern(self.connection, {row[4] for row in rows})
        prefixes = self.names.prefixes
        self.profile = [
            StoredProfile(
                time,
                self._worker(worker, time) or NOT_A_WORKER,
                prefixes[prefix].id if prefix else NO_PREFIX,
                SOURCES.index(source) if source in SOURCES else UNKNOWN_SOURCE,
                stacks[stack],
                count,
            )
            for time, worker, source, prefix, stack, count in rows
        ]
        return "time, worker_id, prefix_id, source, stack_id, count", (
            (
                from_seconds(row.time),
                None if row.worker == NOT_A_WORKER else row.worker,
                row.prefix or None,
                row.source,
                row.stack,
                row.count,
            )
            for row in self.profile
        )

    def transfers(self, rows: list[Columns]) -> tuple[LiteralString, Iterator[Columns]]:
        return "start, stop, worker_id, peer, direction, nbytes, compressed, keys, count", (
            (
                from_seconds(start),
                from_seconds(max(start, stop)),
                self._worker(worker, start),
                peer,
                direction,
                _bytes(nbytes),
                _bytes(compressed),
                clean_json(keys),
                count,
            )
            for start, stop, worker, peer, direction, nbytes, compressed, keys, count in rows
        )

    def steals(self, rows: list[Columns]) -> tuple[LiteralString, Iterator[Columns]]:
        names: LiteralString = (
            "time, outcome, group_id, key_rest, victim, thief, level, cost, victim_occupancy, thief_occupancy"
        )
        return names, (
            (from_seconds(time), outcome, *self._place(key), victim, thief, _small(level), *amounts)
            for time, outcome, key, victim, thief, level, *amounts in rows
        )


Maker = Callable[[Recorder, list[Columns]], tuple[LiteralString, Iterator[Columns]]]

MAKERS: dict[str, Maker] = {
    "transition": Recorder.transitions,
    "error": Recorder.errors,
    "log": Recorder.logs,
    "computation": Recorder.computations,
    "group_dependency": Recorder.group_dependencies,
    "dependency": Recorder.dependencies,
    "task": Recorder.tasks,
    "profile": Recorder.profiles,
    "transfer": Recorder.transfers,
    "steal": Recorder.steals,
}


def _small(number: int) -> int:
    return max(-LARGEST_INT2, min(number, LARGEST_INT2))


def _bytes(number: float) -> int:
    return min(max(int(number), 0), LARGEST_INTEGER)
