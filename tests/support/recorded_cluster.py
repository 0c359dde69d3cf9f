"""A cluster as an agent records it, for tests of what is shown of it: workers, tasks, errors, logs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg

from observatory.store.engines import choose
from observatory.store.ingest.batches.batch import Batch
from observatory.store.ingest.writer import Writer
from observatory.store.keys import encode_keys
from observatory.store.schema.time_series import table_of
from observatory.store.times import from_seconds
from observatory.wire.kinds import KINDS
from observatory.wire.records import (
    ROLES,
    TASK_STATES,
    Action,
    Event,
    Sample,
    Series,
    Span,
    WorkerGone,
    WorkerSeen,
)

START = 1_780_000_000.0
"""seconds; all that is told happens about then"""
GIB = 2**30


@dataclass
class Recorded:
    """Stores records of one cluster; times are seconds after START."""

    connection: psycopg.Connection
    cluster: int
    workers: dict[str, int] = field(default_factory=dict)
    """ids of the newest lifetimes by address"""
    groups: dict[str, int] = field(default_factory=dict)

    def agent(self, since: float = -100) -> None:
        self._insert(
            "agent",
            id=uuid4(),
            cluster_id=self.cluster,
            sequence=1,
            is_joint=False,
            since=at(since),
            last=at(100),
            heard=at(100),
        )

    def worker(
        self,
        address: str,
        name: str,
        died: float | None = None,
        memory: Mapping[float, float] | None = None,
        started: float = -90.0,
        events: Sequence[tuple[float, str, Mapping[str, Any]]] = (),
    ) -> int:
        """A worker with a limit of 4 GiB, its memory (GiB by time), its end and events; its id."""
        series = Series("observatory_worker_memory_bytes", (("type", "process"),), address)
        with Writer() as writer:
            seen = WorkerSeen(address, name, "10.0.0.1", 2, 4 * GIB, START + started)
            samples = [Sample(series, START + time, gib * GIB) for time, gib in (memory or {}).items()]
            happened = [Event(START + time, kind, address, detail) for time, kind, detail in events]
            gone = [WorkerGone(address, START + died, "lost")] if died is not None else []
            writer.write(Batch.of(self.cluster, [seen], [], samples, happened, gone))
        row = self.connection.execute(
            "SELECT id FROM worker WHERE cluster_id = %s AND address = %s ORDER BY started DESC LIMIT 1",
            [self.cluster, address],
        ).fetchone()
        assert row is not None
        self.workers[address] = row[0]
        return int(row[0])

    def span(
        self, key: str, worker: str, start: float, stop: float, group: str = "load-1", thread: int = 1
    ) -> None:
        span = Span(
            worker, thread, key, "load", group, Action.COMPUTE, START + start, START + stop, 10, "int"
        )
        with Writer() as writer:
            writer.write(Batch.of(self.cluster, [], [span], [], [], []))

    def transition(
        self, time: float, key: str, start: str, finish: str, worker: str = "", group: str = "load-1"
    ) -> None:
        self._insert(
            "transition",
            time=at(time),
            cluster_id=self.cluster,
            start=TASK_STATES.index(start),
            finish=TASK_STATES.index(finish),
            worker_id=self.workers.get(worker),
            stimulus=f"because-{time}",
            **self._key(key, group),
        )

    def error(
        self,
        time: float,
        key: str,
        exception_type: str = "ValueError",
        message: str = "no",
        outcome: str = "erred",
        workers: Any = (),
        traceback: str = "",
        prefix: str = "load",
        group: str = "load-1",
        dependents: int = 0,
        function: str = "",
        arguments: str = "",
    ) -> UUID:
        id = uuid4()
        self._insert(
            "error",
            time=at(time),
            cluster_id=self.cluster,
            id=id,
            worker_id=self.workers.get(workers[-1]) if isinstance(workers, list) and workers else None,
            prefix_id=self._prefix(prefix),
            outcome=outcome,
            exception_type=exception_type,
            message=message,
            traceback=traceback,
            retries=0,
            workers=json.dumps(workers),
            dependents=dependents,
            function=function,
            arguments=arguments,
            **self._key(key, group, prefix),
        )
        return id

    def log(
        self,
        time: float,
        message: str,
        level: int = 20,
        role: str = "scheduler",
        worker: str = "",
        logger: str = "distributed.core",
        traceback: str = "",
    ) -> None:
        self._insert(
            "log",
            time=at(time),
            cluster_id=self.cluster,
            worker_id=self.workers.get(worker),
            role=ROLES.index(role),
            level=level,
            pid=1,
            logger=logger,
            message=message,
            traceback=traceback,
        )

    def task(self, key: str, priority: str, annotations: Mapping[str, Any], group: str = "load-1") -> None:
        self._insert(
            "task",
            time=at(0),
            cluster_id=self.cluster,
            computation="c",
            priority=priority,
            retries=0,
            annotations=json.dumps(annotations),
            resources="{}",
            **self._key(key, group),
        )

    def dependency(
        self, key: str, depends_on: str, group: str = "load-1", needed_group: str | None = None
    ) -> None:
        needed = self._key(depends_on, needed_group or group)
        self._insert(
            "dependency",
            time=at(0),
            cluster_id=self.cluster,
            computation="c",
            depends_on_group_id=needed["group_id"],
            depends_on_rest=needed["key_rest"],
            **self._key(key, group),
        )

    def transfer(
        self, key: str, worker: str, peer: str, start: float, stop: float, keys: Any, group: str
    ) -> None:
        """A transfer of `keys` (bytes by key) from `peer`, with the span that shows it of the task `key`."""
        span = Span(worker, 1, key, "load", group, Action.TRANSFER, START + start, START + stop, 10, "int")
        with Writer() as writer:
            writer.write(Batch.of(self.cluster, [], [span], [], [], []))
        self._insert(
            "transfer",
            start=at(start),
            stop=at(stop),
            cluster_id=self.cluster,
            worker_id=self.workers[worker],
            peer=peer,
            direction=0,
            nbytes=sum(keys.values()),
            compressed=0,
            keys=json.dumps(keys),
            count=len(keys),
        )

    def steal(
        self, key: str, time: float, outcome: str, victim: str, thief: str, group: str, **costs: Any
    ) -> None:
        usual = {"level": -1, "cost": 0.0, "victim_occupancy": 0.0, "thief_occupancy": 0.0}
        self._insert(
            "steal",
            time=at(time),
            cluster_id=self.cluster,
            outcome=outcome,
            victim=victim,
            thief=thief,
            **{**usual, **costs},
            **self._key(key, group),
        )

    def _key(self, key: str, group: str, prefix: str = "load") -> dict[str, Any]:
        [rest] = encode_keys([key], [group])
        return {"group_id": self._group(group, prefix), "key_rest": rest}

    def _prefix(self, name: str) -> int:
        return self._id("prefix", name, color="#112233")

    def _group(self, name: str, prefix: str) -> int:
        return self._id("task_group", name, prefix_id=self._prefix(prefix))

    def _id(self, table: str, name: str, **columns: Any) -> int:
        query = f"SELECT id FROM {table} WHERE cluster_id = %s AND name = %s"
        row = self.connection.execute(query.encode(), [self.cluster, name]).fetchone()
        if row is None:
            self._insert(table, cluster_id=self.cluster, name=name, **columns)
            return self._id(table, name)
        return int(row[0])

    def _insert(self, table: str, **columns: Any) -> None:
        if table in KINDS:
            choose(self.connection).prepare(self.connection, table_of(table), [at(0).date()])
        names, places = ", ".join(columns), ", ".join(["%s"] * len(columns))
        statement = f"INSERT INTO {table} ({names}) VALUES ({places})"
        self.connection.execute(statement.encode(), list(columns.values()))


def at(seconds: float) -> datetime:
    return from_seconds(START + seconds)
