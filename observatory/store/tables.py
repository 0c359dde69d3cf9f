"""The store's tables. docs/architecture.md says what their columns mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

import psycopg

if TYPE_CHECKING:
    from observatory.store.engines.base import Engine


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """A table of records in time: a hypertable on timescale, daily partitions on plain."""

    name: LiteralString
    time: LiteralString
    """the column that it is partitioned by"""
    columns: LiteralString
    indexes: tuple[LiteralString, ...]
    segment_by: LiteralString
    order_by: LiteralString
    """how timescale's columnstore groups and orders rows"""


SPAN = TimeSeries(
    name="span",
    time="start",
    columns="""
        start timestamptz NOT NULL,
        stop timestamptz NOT NULL,
        nbytes bigint NOT NULL,
        cluster_id integer NOT NULL,
        lane_id integer NOT NULL,
        prefix_id integer NOT NULL,
        group_id integer NOT NULL,
        typename_id integer NOT NULL,
        action smallint NOT NULL,
        status smallint NOT NULL,
        key_hash integer NOT NULL,
        key_rest text NOT NULL
    """,
    # BRIN on both ends: what overlaps a window is found without knowing how long the longest span is
    indexes=(
        "USING btree (cluster_id, start)",
        "USING btree (cluster_id, key_hash)",
        "USING brin (start, stop) WITH (pages_per_range = 32)",
    ),
    segment_by="cluster_id",
    order_by="start, stop",
)

SAMPLE = TimeSeries(
    name="sample",
    time="time",
    columns="""
        time timestamptz NOT NULL,
        value float8 NOT NULL,
        series_id integer NOT NULL,
        cluster_id integer NOT NULL
    """,
    indexes=("USING btree (series_id, time)", "USING brin (time) WITH (pages_per_range = 32)"),
    segment_by="cluster_id, series_id",
    order_by="time",
)

EVENT = TimeSeries(
    name="event",
    time="time",
    columns="""
        time timestamptz NOT NULL,
        cluster_id integer NOT NULL,
        worker_id integer,
        kind text NOT NULL,
        detail jsonb NOT NULL
    """,
    indexes=("USING btree (cluster_id, time)",),
    segment_by="cluster_id",
    order_by="time",
)

TRANSITION = TimeSeries(
    name="transition",
    time="time",
    columns="""
        time timestamptz NOT NULL,
        cluster_id integer NOT NULL,
        group_id integer NOT NULL,
        worker_id integer,
        key_hash integer NOT NULL,
        start smallint NOT NULL,
        finish smallint NOT NULL,
        key_rest text NOT NULL,
        stimulus text NOT NULL
    """,
    indexes=("USING btree (cluster_id, key_hash)", "USING brin (time) WITH (pages_per_range = 32)"),
    segment_by="cluster_id",
    order_by="time",
)

ERROR = TimeSeries(
    name="error",
    time="time",
    columns="""
        time timestamptz NOT NULL,
        id uuid NOT NULL,
        cluster_id integer NOT NULL,
        worker_id integer,
        prefix_id integer NOT NULL,
        group_id integer NOT NULL,
        key_hash integer NOT NULL,
        retries integer NOT NULL,
        dependents integer NOT NULL,
        outcome text NOT NULL,
        exception_type text NOT NULL,
        key_rest text NOT NULL,
        message text NOT NULL,
        traceback text NOT NULL,
        workers jsonb NOT NULL
    """,
    indexes=("USING btree (cluster_id, time)", "USING btree (cluster_id, key_hash)", "USING btree (id)"),
    segment_by="cluster_id",
    order_by="time",
)

LOG = TimeSeries(
    name="log",
    time="time",
    columns="""
        time timestamptz NOT NULL,
        cluster_id integer NOT NULL,
        worker_id integer,
        pid bigint NOT NULL,
        role smallint NOT NULL,
        level smallint NOT NULL,
        logger text NOT NULL,
        message text NOT NULL,
        traceback text NOT NULL
    """,
    indexes=("USING btree (cluster_id, time)",),
    segment_by="cluster_id",
    order_by="time",
)

COMPUTATION = TimeSeries(
    name="computation",
    time="time",
    columns="""
        time timestamptz NOT NULL,
        cluster_id integer NOT NULL,
        computation text NOT NULL,
        client text NOT NULL,
        code text NOT NULL,
        groups jsonb NOT NULL,
        annotations jsonb NOT NULL,
        spans jsonb NOT NULL
    """,
    indexes=("USING btree (cluster_id, time)",),
    segment_by="cluster_id",
    order_by="time",
)

GROUP_DEPENDENCY = TimeSeries(
    name="group_dependency",
    time="time",
    columns="""
        time timestamptz NOT NULL,
        cluster_id integer NOT NULL,
        group_id integer NOT NULL,
        depends_on_id integer NOT NULL,
        edges bigint NOT NULL,
        computation text NOT NULL
    """,
    indexes=("USING btree (cluster_id, time)",),
    segment_by="cluster_id",
    order_by="time",
)

DEPENDENCY = TimeSeries(
    name="dependency",
    time="time",
    columns="""
        time timestamptz NOT NULL,
        cluster_id integer NOT NULL,
        group_id integer NOT NULL,
        depends_on_group_id integer NOT NULL,
        key_hash integer NOT NULL,
        depends_on_hash integer NOT NULL,
        computation text NOT NULL,
        key_rest text NOT NULL,
        depends_on_rest text NOT NULL
    """,
    indexes=("USING btree (cluster_id, key_hash)", "USING btree (cluster_id, depends_on_hash)"),
    segment_by="cluster_id",
    order_by="time",
)

TASK = TimeSeries(
    name="task",
    time="time",
    columns="""
        time timestamptz NOT NULL,
        cluster_id integer NOT NULL,
        group_id integer NOT NULL,
        key_hash integer NOT NULL,
        retries bigint NOT NULL,
        computation text NOT NULL,
        key_rest text NOT NULL,
        priority text NOT NULL,
        annotations jsonb NOT NULL,
        resources jsonb NOT NULL
    """,
    indexes=("USING btree (cluster_id, key_hash)",),
    segment_by="cluster_id",
    order_by="time",
)

PROFILE = TimeSeries(
    name="profile",
    time="time",
    columns="""
        time timestamptz NOT NULL,
        cluster_id integer NOT NULL,
        worker_id integer,
        prefix_id integer,
        stack_id integer NOT NULL,
        count bigint NOT NULL,
        source smallint NOT NULL
    """,
    indexes=("USING btree (cluster_id, time)",),
    segment_by="cluster_id",
    order_by="time",
)

TRANSFER = TimeSeries(
    name="transfer",
    time="start",
    columns="""
        start timestamptz NOT NULL,
        stop timestamptz NOT NULL,
        nbytes bigint NOT NULL,
        compressed bigint NOT NULL,
        cluster_id integer NOT NULL,
        worker_id integer,
        count bigint NOT NULL,
        direction smallint NOT NULL,
        peer text NOT NULL,
        keys jsonb NOT NULL
    """,
    indexes=("USING btree (cluster_id, start)",),
    segment_by="cluster_id",
    order_by="start",
)

STEAL = TimeSeries(
    name="steal",
    time="time",
    columns="""
        time timestamptz NOT NULL,
        cost float8 NOT NULL,
        victim_occupancy float8 NOT NULL,
        thief_occupancy float8 NOT NULL,
        cluster_id integer NOT NULL,
        group_id integer NOT NULL,
        key_hash integer NOT NULL,
        level smallint NOT NULL,
        outcome text NOT NULL,
        key_rest text NOT NULL,
        victim text NOT NULL,
        thief text NOT NULL
    """,
    indexes=("USING btree (cluster_id, time)",),
    segment_by="cluster_id",
    order_by="time",
)

RECORDED = {
    "transition": TRANSITION,
    "error": ERROR,
    "log": LOG,
    "computation": COMPUTATION,
    "group_dependency": GROUP_DEPENDENCY,
    "dependency": DEPENDENCY,
    "task": TASK,
    "profile": PROFILE,
    "transfer": TRANSFER,
    "steal": STEAL,
}
"""by kind (wire/kinds.py): what only an agent tells"""

TIME_SERIES = (SPAN, SAMPLE, EVENT, *RECORDED.values())

DIMENSIONS: dict[LiteralString, tuple[LiteralString, ...]] = {
    "worker": (
        """CREATE TABLE worker (
            id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            cluster_id integer NOT NULL,
            address text NOT NULL,
            name text NOT NULL DEFAULT '',
            host text NOT NULL DEFAULT '',
            nthreads integer NOT NULL DEFAULT 0,
            memory_limit bigint NOT NULL DEFAULT 0,
            resources jsonb NOT NULL DEFAULT '{}',
            detail jsonb NOT NULL DEFAULT '{}',
            started timestamptz NOT NULL,
            ended timestamptz,
            end_reason text NOT NULL DEFAULT '',
            status text NOT NULL DEFAULT ''
        )""",
        "CREATE INDEX ON worker (cluster_id, address, started)",
        "CREATE UNIQUE INDEX ON worker (cluster_id, address) WHERE ended IS NULL",
    ),
    "lane": (
        """CREATE TABLE lane (
            id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            cluster_id integer NOT NULL,
            worker_id integer NOT NULL,
            thread bigint NOT NULL,
            position integer NOT NULL,
            UNIQUE (worker_id, thread)
        )""",
        "CREATE INDEX ON lane (cluster_id)",
    ),
    "prefix": (
        """CREATE TABLE prefix (
            id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            cluster_id integer NOT NULL,
            name text NOT NULL,
            color text NOT NULL,
            UNIQUE (cluster_id, name)
        )""",
    ),
    "task_group": (
        """CREATE TABLE task_group (
            id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            cluster_id integer NOT NULL,
            prefix_id integer NOT NULL,
            name text NOT NULL,
            UNIQUE (cluster_id, name)
        )""",
    ),
    "typename": (
        """CREATE TABLE typename (
            id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            cluster_id integer NOT NULL,
            name text NOT NULL,
            UNIQUE (cluster_id, name)
        )""",
    ),
    "series": (
        """CREATE TABLE series (
            id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            cluster_id integer NOT NULL,
            worker_id integer,
            metric text NOT NULL,
            labels jsonb NOT NULL,
            type smallint NOT NULL,
            identity uuid NOT NULL,
            UNIQUE (cluster_id, identity)
        )""",
        "CREATE INDEX ON series (cluster_id, metric)",
    ),
    "stack": (
        """CREATE TABLE stack (
            id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            cluster_id integer NOT NULL,
            identity uuid NOT NULL,
            frames text NOT NULL,
            UNIQUE (cluster_id, identity)
        )""",
    ),
    "agent": (
        """CREATE TABLE agent (
            id uuid PRIMARY KEY,
            cluster_id integer NOT NULL,
            sequence bigint NOT NULL,
            is_joint boolean NOT NULL,
            since timestamptz NOT NULL,
            last timestamptz NOT NULL,
            heard timestamptz NOT NULL DEFAULT now()
        )""",
        "CREATE INDEX ON agent (cluster_id)",
    ),
    "extent": (
        """CREATE TABLE extent (
            cluster_id integer PRIMARY KEY,
            first timestamptz NOT NULL DEFAULT 'epoch',
            last timestamptz NOT NULL DEFAULT 'epoch',
            committed timestamptz NOT NULL DEFAULT 'epoch',
            version integer NOT NULL DEFAULT 1,
            sequence bigint NOT NULL DEFAULT 0,
            spans bigint NOT NULL DEFAULT 0,
            tasks bigint NOT NULL DEFAULT 0,
            errors bigint NOT NULL DEFAULT 0,
            workers integer NOT NULL DEFAULT 0
        ) WITH (fillfactor = 50)""",
    ),
    "keyframe": (
        """CREATE TABLE keyframe (
            cluster_id integer NOT NULL,
            time timestamptz NOT NULL,
            prefixes integer[] NOT NULL,
            tasks bigint[] NOT NULL,
            seconds float8[] NOT NULL,
            PRIMARY KEY (cluster_id, time)
        )""",
    ),
    "tile": (
        """CREATE TABLE tile (
            cluster_id integer NOT NULL,
            layer text NOT NULL,
            level smallint NOT NULL,
            index bigint NOT NULL,
            version integer NOT NULL,
            body bytea NOT NULL,
            PRIMARY KEY (cluster_id, layer, level, index)
        )""",
        "ALTER TABLE tile ALTER COLUMN body SET STORAGE EXTERNAL",
    ),
}


def create(connection: psycopg.Connection, engine: Engine) -> None:
    """Makes every table of the store."""
    for statements in DIMENSIONS.values():
        for statement in statements:
            connection.execute(statement)
    for table in TIME_SERIES:
        engine.create(connection, table)


def drop(connection: psycopg.Connection) -> None:
    """Drops every table of the store and what is in it."""
    for name in (*DIMENSIONS, *(table.name for table in TIME_SERIES)):
        connection.execute(f"DROP TABLE IF EXISTS {name} CASCADE")
