"""The kinds of blocks that tiles and the live socket consist of: their columns, types, units and meanings.

Blocks are checked against these declarations when they are encoded. `observatory.config.contract` makes the
documentation's table (docs/blocks.md) and the frontend's names and types (frontend/contract.js) from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from observatory.wire.blocks import TYPECODES, BlockError, Column, encode, number_column, text_column


@dataclass(frozen=True, slots=True)
class BlockColumn:
    """A column of a block. `type` is a type of `observatory.wire.blocks`."""

    name: str
    type: str
    meaning: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class BlockKind:
    """A kind of block. A kind without columns has no rows: its content is in its meta."""

    name: str
    meaning: str
    columns: tuple[BlockColumn, ...] = ()
    meta: tuple[str, ...] = ()
    """names in the block's meta; live blocks leave out `level`, `index` and `bins`, which belong to tiles"""
    found_in: str = ""
    shared: tuple[str, ...] = ()
    """columns and names of the meta that a public link shows; a name that is not listed is hidden"""

    def encode(
        self,
        values: Mapping[str, Any],
        meta: Mapping[str, Any] | None = None,
        to_json: Callable[[Any], bytes] | None = None,
    ) -> bytes:
        """The bytes of a block; `to_json` as for `blocks.encode`.

        `values` has the values of each column: a buffer of the column's type (a numpy array), a sequence of
        numbers or texts, or a `Column`. Raises BlockError for columns other than the declared ones, and for a
        buffer or a `Column` of another type.
        """
        if values.keys() != {column.name for column in self.columns}:
            raise BlockError(f"a block of kind {self.name!r} has other columns than {sorted(values)}")
        columns = [_column(column, values[column.name]) for column in self.columns]
        rows = _rows(columns[0]) if columns else 0
        return encode(self.name, rows, columns, meta, may_share=True, to_json=to_json)


def _column(declared: BlockColumn, values: Any) -> Column:
    if isinstance(values, Column):
        if (values.name, values.type) != (declared.name, declared.type):
            raise BlockError(
                f"column {declared.name!r} is {declared.type}, not {values.name!r} {values.type}"
            )
        return values
    if declared.type == "text":
        column = text_column(declared.name, values)
        # indices that count up take a tenth of a compressed tile
        return replace(column, has_data=len(column.values or ()) < len(column.data))
    try:
        view = memoryview(values)
    except TypeError:
        return number_column(declared.name, declared.type, values)
    if view.format.lstrip("<=@") != TYPECODES[declared.type]:
        raise BlockError(f"column {declared.name!r} is {declared.type}, not of the format {view.format!r}")
    return Column(declared.name, declared.type, values)


def _rows(column: Column) -> int:
    view = memoryview(column.data)
    return view.nbytes // view.itemsize


LANE = BlockColumn("lane", "u32", "id of the lane")
PREFIX = BlockColumn("prefix", "u32", "id of the prefix")
ACTION = BlockColumn("action", "u8", "index in the list of actions")
BIN = BlockColumn("bin", "u32", "index of the bin in the tile")
COUNT = BlockColumn("count", "u32", "how many were counted")

SPAN = BlockKind(
    "span",
    "spans",
    (
        LANE,
        PREFIX,
        ACTION,
        BlockColumn("status", "u8", "0 ok, 1 error"),
        BlockColumn("start", "f64", "start", "s"),
        BlockColumn("stop", "f64", "end", "s"),
        BlockColumn(
            "nbytes", "f64", "size of the task's result, also of a transfer that it waited for", "bytes"
        ),
        BlockColumn("key", "text", "key of the task"),
        BlockColumn("typename", "text", "type of the result"),
    ),
    ("layer",),
    "tiles of `spans` (without meta), live",
    shared=("lane", "prefix", "action", "status", "start", "stop", "nbytes", "key", "typename", "layer"),
)
PACKED_SPAN = BlockKind(
    "packed-span",
    "all spans of a band, sorted by lane and start; times are differences, which compress better",
    (
        *SPAN.columns[:4],
        BlockColumn("gap", "f64", "from the end of the row before to the start; first: since 1970", "µs"),
        BlockColumn("duration", "f64", "from start to end", "µs"),
        *SPAN.columns[6:],
    ),
    ("layer",),
    "`/spans` of HTML files",
)
BUSY = BlockKind(
    "busy",
    "how long each prefix and action was busy in each bin",
    (
        LANE,
        BIN,
        PREFIX,
        ACTION,
        BlockColumn("seconds", "f32", "time in the bin", "s"),
        BlockColumn("count", "u32", "spans that started in the bin"),
    ),
    ("level", "index"),
    "tiles of `spans` and, with lane 0, of `prefixes`",
    shared=("lane", "bin", "prefix", "action", "seconds", "count", "level", "index"),
)
SERIES_BIN = BlockKind(
    "bin",
    "what each series did in each bin that has a sample of it; counters are rates",
    (
        BlockColumn("series", "u32", "id of the series"),
        BlockColumn("time", "f64", "time of the last sample", "s"),
        BlockColumn("min", "f64", "least value"),
        BlockColumn("max", "f64", "greatest value"),
        BlockColumn("mean", "f64", "mean value"),
        BlockColumn("last", "f64", "last value"),
        BlockColumn("count", "u32", "samples"),
    ),
    ("level", "index", "layer"),
    "tiles of series, live (one sample each)",
    shared=("series", "time", "min", "max", "mean", "last", "count", "level", "index", "layer"),
)
WORKER = BlockColumn("worker", "u32", "id of the worker")
WIDE_BIN = BlockColumn("bin", "u32", "index of the bin in the tile, of eight of its level's")
WORKER_VALUE = BlockKind(
    "worker-value",
    "the mean of one series of each worker in each of 64 bins of a tile that has a sample of it",
    (
        WORKER,
        WIDE_BIN,
        BlockColumn("mean", "f32", "mean value"),
        BlockColumn("count", "u32", "samples"),
    ),
    ("level", "index"),
    "tiles of `memory.each`, `cpu.each`, `gil.each`",
    shared=("worker", "bin", "mean", "count", "level", "index"),
)
WORKER_BUSY = BlockKind(
    "worker-busy",
    "how each worker computed in each of 64 bins of a tile, and the prefix that took it longest",
    (
        WORKER,
        WIDE_BIN,
        BlockColumn("busy", "f32", "time of all prefixes, of all threads", "s"),
        PREFIX,
        BlockColumn("seconds", "f32", "time of that prefix", "s"),
        BlockColumn("tasks", "f32", "tasks of that prefix; of one that goes on in other bins its share"),
        BlockColumn("longest", "f32", "duration of the longest of them", "s"),
        BlockColumn("errors", "u32", "tasks of all prefixes that erred in the bin"),
    ),
    ("level", "index"),
    "tiles of `spans.each`",
    shared=("worker", "bin", "busy", "prefix", "seconds", "tasks", "longest", "errors", "level", "index"),
)
EVENT = BlockKind(
    "event",
    "events",
    (
        BlockColumn("time", "f64", "time", "s"),
        BlockColumn("worker", "i32", "id of the worker; -1 none"),
        BlockColumn("kind", "text", "kind of event"),
        BlockColumn("message", "text", "message"),
        BlockColumn("detail", "text", "JSON object"),
    ),
    (),
    "tiles of `events`, live",
    shared=("time", "worker", "kind", "message", "detail"),
)
EVENT_COUNT = BlockKind(
    "event-count",
    "number of events in each bin, of kinds with more than 500 events in the tile; gaps and lost workers are "
    "always events of their own",
    (BIN, BlockColumn("kind", "text", "kind of event"), COUNT),
    ("level", "index"),
    "tiles of `events`",
    shared=("bin", "kind", "count", "level", "index"),
)
PROFILE_ROWS = BlockKind(
    "profile",
    "how often each stack was sampled",
    (
        BlockColumn("time", "f64", "time of the newest sample", "s"),
        BlockColumn("worker", "i32", "id of the worker; -1 the scheduler"),
        BlockColumn("prefix", "u32", "id of the prefix; 0 none"),
        BlockColumn("source", "u8", "0 task, 1 event loop, 2 native stacks of tasks"),
        BlockColumn("stack", "u32", "id of the stack"),
        BlockColumn("count", "u32", "samples"),
    ),
    ("level", "index", "bins"),
    "tiles of `profile`, live",
    shared=("time", "worker", "prefix", "source", "stack", "count", "level", "index", "bins"),
)
STACK = BlockKind(
    "stack",
    "stacks of profiles",
    (
        BlockColumn("id", "u32", "id of the stack"),
        BlockColumn("frames", "text", "a line a frame, outermost first: name, file, line, separated by tabs"),
    ),
    (),
    "`/stacks`",
    shared=("id", "frames"),
)
STATE = BlockKind("state", "the current state, as `/state` returns it", found_in="live, each second")
TARGET = BlockKind(
    "target",
    "the status of the cluster's target, and `unheard` as of the cluster",
    (),
    ("stream", "last_error", "unheard"),
    "live, each second, before the state",
)
ITEMS = tuple(
    BlockKind(name, meaning, (), ("items",), "live, before the first block that uses their ids")
    for name, meaning in {
        "worker": "workers as in `/lanes`",
        "lane": "lanes as in `/lanes`",
        "prefix": "prefixes as in `/lanes`",
        "series": "series, each with `id`, `worker`, `metric`, `labels` and `interval`",
    }.items()
)
EXTENT = BlockKind(
    "extent",
    "the bounds of what is stored",
    (),
    (
        "committed",
        "first",
        "last",
        "version",
        "sequence",
        "ended",
        "end_reason",
        "task_count",
        "error_count",
        "worker_count",
        "stream",
        "lanes_version",
    ),
    "first block of each tile, and of a socket, where it has the version of /lanes; live, last block of each "
    "batch, where a status that its sender doesn't know (ended, end_reason, stream) is left out and stays as "
    "it was",
    shared=("committed", "first", "last", "version", "sequence", "ended", "end_reason", "stream"),
)

KINDS = {
    kind.name: kind
    for kind in (
        SPAN,
        PACKED_SPAN,
        BUSY,
        SERIES_BIN,
        WORKER_VALUE,
        WORKER_BUSY,
        EVENT,
        EVENT_COUNT,
        PROFILE_ROWS,
        STACK,
        TARGET,
        STATE,
        *ITEMS,
        EXTENT,
    )
}
