"""The tables of records in time. docs/architecture/store.md says what their columns mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import LiteralString


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

    @property
    def end(self) -> LiteralString:
        """the column of when a record ended: that of its time, where it has no length"""
        return "stop" if self.time == "start" else self.time


BLOCKS: LiteralString = "WITH (pages_per_range = 32, autosummarize = on)"
"""Rows come in order of time: for each block of pages BRIN knows the times in it."""
KEYS: LiteralString = "text_bloom_ops (n_distinct_per_range = 2000, false_positive_rate = 0.001)"
"""A filter of the keys in each block of pages: a twentieth of a tree's size, and only ever appended to."""
# Groups are numbered as they come, so that BRIN leaves few blocks of them. An index a column: of two together
# TimescaleDB would make a filter of their pairs, which takes a byte a row.
KEY_INDEXES: tuple[LiteralString, ...] = (
    f"USING brin (group_id) {BLOCKS}",
    f"USING brin (key_rest {KEYS}) {BLOCKS}",
)

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
        key_rest text NOT NULL
    """,
    # BRIN on both ends: what overlaps a window is found without knowing how long the longest span is
    indexes=(
        "USING btree (cluster_id, start)",
        f"USING brin (start) {BLOCKS}",
        f"USING brin (stop) {BLOCKS}",
        *KEY_INDEXES,
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
    indexes=("USING btree (series_id, time)", f"USING brin (time) {BLOCKS}"),
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
        start smallint NOT NULL,
        finish smallint NOT NULL,
        key_rest text NOT NULL,
        stimulus text NOT NULL
    """,
    indexes=(f"USING brin (time) {BLOCKS}", *KEY_INDEXES),
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
        retries integer NOT NULL,
        dependents integer NOT NULL,
        outcome text NOT NULL,
        exception_type text NOT NULL,
        key_rest text NOT NULL,
        message text NOT NULL,
        traceback text NOT NULL,
        workers jsonb NOT NULL
    """,
    indexes=("USING btree (cluster_id, time)", *KEY_INDEXES, "USING btree (id)"),
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
        computation text NOT NULL,
        key_rest text NOT NULL,
        depends_on_rest text NOT NULL
    """,
    indexes=(
        f"USING brin (time) {BLOCKS}",
        *KEY_INDEXES,
        f"USING brin (depends_on_group_id) {BLOCKS}",
        f"USING brin (depends_on_rest {KEYS}) {BLOCKS}",
    ),
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
        retries bigint NOT NULL,
        computation text NOT NULL,
        key_rest text NOT NULL,
        priority text NOT NULL,
        annotations jsonb NOT NULL,
        resources jsonb NOT NULL
    """,
    indexes=(f"USING brin (time) {BLOCKS}", *KEY_INDEXES),
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
