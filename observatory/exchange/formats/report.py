"""Contents of the HTML report: the responses that the run's page loads, by path, compressed with gzip.

Spans are included one by one, those of a run with too many as tiles. Tiles
are included from the level that shows the whole run down to the finest that a page asks for, as long as they
take at most BYTES_OF_A_TASK for each task.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db.models import Q

from observatory.alerts.web.timelines import alerts_of
from observatory.exchange.attachments.answer import ANSWER as ATTACHED
from observatory.exchange.formats.report_instants import instants_of, largest_results, states_and_figures
from observatory.exchange.formats.report_schemas import schema_of
from observatory.exchange.formats.report_spans import pack_spans
from observatory.exchange.records.exported_records import part_of
from observatory.replay.answers.shared_fields import shown
from observatory.replay.cluster_info import cluster_info, lanes
from observatory.replay.lineage import stolen_tasks
from observatory.replay.logs.api import line_document
from observatory.replay.logs.search import Wanted, search_around
from observatory.replay.scope import Scope, Section
from observatory.replay.tiles.builder import get_tile
from observatory.replay.tiles.events import list_repeated_events
from observatory.replay.tiles.layers import Layer, layers_for
from observatory.replay.tiles.levels import MAXIMUM_LEVEL, MINIMUM_LEVEL, TileId
from observatory.replay.tiles.profiles import stack_block
from observatory.replay.windows.answers import ANSWERS as OF_WINDOWS
from observatory.replay.windows.environment import environment_of
from observatory.replay.windows.prefixes import groups_of, prefix_details, prefixes_of
from observatory.replay.windows.task_graph import task_graph_of
from observatory.replay.windows.transfers import transfers_of
from observatory.runs.notes_api import note_item
from observatory.store.connection import build_connection, read_connection
from observatory.store.queries.stacks import stack_counts, stack_frames
from observatory.store.queries.timeline import snapshot
from observatory.store.times import MAXIMUM_TIME, from_microseconds
from observatory.why.answers import ANSWERS as WHY
from observatory.why.kept import StillLooking
from observatory.why.window import TooManyTasks
from observatory.wire.blocks import Block, decode
from observatory.wire.layers import EVENTS, LAYERS, PREFIXES, PROFILE, SPANS
from observatory.wire.timeline_blocks import EXTENT

BYTES_OF_A_TASK, BYTES_OF_A_RUN, MOST_BYTES = 30, 300_000, 64 * 2**20
"""of all tiles, packed"""
NARROWEST = 300
"""pixels that show the whole run on the coarsest level"""
OF_SPANS = (SPANS, PREFIXES)
"""layers that a page makes from spans"""
MOST_PLACES = 512
"""of a level"""
FINEST_PROFILE, BINS_AN_INTERVAL = 14, 8
"""of the profile's tiles and of series: finer ones aren't asked for (frontend/timeline/tiles/tiles.js)"""
MOST_STACKS, MOST_NOTES = 5_000, 5_000
MOST_EVENTS, MOST_LINES = 1_000, 2_000
DETAILED_PREFIXES = 20
"""that took longest; of the others the file has no slowest tasks, workers and groups"""


@dataclass(slots=True)
class Report:
    """Everything in it is by path, in the order in which a page needs it."""

    scope: Scope
    info: dict[str, Any]
    entries: dict[str, bytes] = field(default_factory=dict)
    level: int = MAXIMUM_LEVEL
    """of the finest tiles"""
    has_all_spans: bool = False
    """whether a page of the server shows no span that the file hasn't"""
    step: float = 0.0
    """seconds between two states"""

    def add(self, path: str, content: bytes | dict[str, Any] | list[Any]) -> None:
        if not isinstance(content, bytes):
            content = _json(shown(self.scope, schema_of(path), content))
        self.entries[path] = gzip.compress(content, 9, mtime=0)


def report_of(scope: Scope, progress: Callable[[float], None]) -> Report:
    """Raises what `progress` raises, and psycopg.Error without a database."""
    known = cluster_info(scope)
    ended = known["ended"] or max(known["last"], known["first"])
    known |= {"target": None, "project": None, "is_whole": False, "ended": ended}
    report = Report(scope, known)
    names = lanes(scope)
    report.add("/lanes", names)
    positions = [worker["position"] for worker in names["workers"]]
    layers = [layer for layer in layers_for(max(positions, default=0) + 1) if _shows(scope, layer)]
    spans = pack_spans(scope, layers)
    if spans is not None:
        extent = {name: known[name] for name in EXTENT.meta if name in known}
        report.add("/spans", EXTENT.encode({}, extent) + spans)
        report.has_all_spans = True
        layers = [layer for layer in layers if layer.name not in OF_SPANS]
    _add_tiles(report, scope, layers, part_of(progress, 0, 2))
    known |= {
        "minimum_level": report.level,
        "minimum_span_level": report.level if spans is None else MINIMUM_LEVEL,
        "maximum_level": _top(known),
    }
    _add_prefixes(report, scope, partial(progress, 0.5))
    _add_instants(report, scope, len(names["workers"]) + len(names["prefixes"]), part_of(progress, 1, 2))
    if Section.CODE in scope.sections:
        _add_stacks(report, scope)
    if known["attached_files"]:
        with read_connection() as connection:
            report.add(ATTACHED.path, ATTACHED.of(connection, scope, 0, MAXIMUM_TIME))
    if not scope.is_public:
        _add_notes(report, scope)
    _add_alerts(report, scope)
    _add_records(report, scope)
    with build_connection() as connection:
        report.add("/transfers", transfers_of(connection, scope, 0, MAXIMUM_TIME))
        report.add("/stolen", stolen_tasks(connection, scope, 0, MAXIMUM_TIME))
        for answer in (*OF_WINDOWS, *WHY):
            with suppress(TooManyTasks, StillLooking):
                report.add(answer.path, answer.of(connection, scope, 0, MAXIMUM_TIME))
    with read_connection() as connection, snapshot(connection):
        report.add("/task-graph", task_graph_of(connection, scope, 0, MAXIMUM_TIME))
    report.add("", known)
    report.entries = {"": report.entries.pop(""), **report.entries}
    return report


def _json(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()


def _top(known: dict[str, Any]) -> int:
    """The level on which the whole run is NARROWEST bins wide."""
    length = max(known["ended"] - known["first"], 1e-3) * 1e6
    return min(max(math.ceil(math.log2(length / NARROWEST)), MINIMUM_LEVEL), MAXIMUM_LEVEL)


def _add_tiles(report: Report, scope: Scope, layers: list[Layer], progress: Callable[[float], None]) -> None:
    known = report.info
    budget = min(BYTES_OF_A_RUN + BYTES_OF_A_TASK * (known["task_count"] or 0), MOST_BYTES)
    top, used = _top(known), 0
    has_tiles_of_spans = any(layer.name in OF_SPANS for layer in layers)
    finest = min(top, MINIMUM_LEVEL if has_tiles_of_spans else finest_series(known))
    for level in range(top, finest - 1, -1):
        tile_ids = list(_places(known, level))
        if level < top and len(tile_ids) > MOST_PLACES:
            break
        done = (top - level) / (top - finest + 1)
        wanted = [layer for layer in layers if level == top or level >= _finest(known, layer)]
        most = budget - used if level < top else MOST_BYTES
        found = _tiles(scope, wanted, tile_ids, most, partial(progress, done))
        if found is None:
            break
        report.entries |= found.packed
        report.level = level
        used += found.size
        if has_tiles_of_spans and (level == MINIMUM_LEVEL or not found.has_busy):
            report.has_all_spans = True
            break
    progress(1.0)


@dataclass(slots=True)
class _Tiles:
    packed: dict[str, bytes] = field(default_factory=dict)
    size: int = 0
    has_busy: bool = False
    """whether a lane's spans are summed in bins"""


def _tiles(
    scope: Scope, layers: list[Layer], tile_ids: list[TileId], most: int, goes_on: Callable[[], None]
) -> _Tiles | None:
    """Those that have something in them, and one that has nothing; None where they take more bytes."""
    found = _Tiles()
    with read_connection() as connection:
        for layer in layers:
            for tile_id in tile_ids:
                goes_on()
                body = get_tile(connection, scope, layer, tile_id).body
                blocks = list(decode(body))
                if sum(block.rows for block in blocks):
                    path = f"/tiles/{layer}/{tile_id.level}/{tile_id.index}"
                    found.packed[path] = gzip.compress(body, 9, mtime=0)
                    found.size += len(found.packed[path])
                    found.has_busy |= layer.name == SPANS and _has_busy(blocks)
                elif "/tiles" not in found.packed:
                    found.packed["/tiles"] = gzip.compress(body, 9, mtime=0)
                if found.size > most:
                    return None
    return found


def _has_busy(blocks: list[Block]) -> bool:
    return any(block.kind == "busy" and block.rows for block in blocks)


def _shows(scope: Scope, layer: Layer) -> bool:
    return layer.name != PROFILE or Section.CODE in scope.sections


def _places(known: dict[str, Any], level: int) -> Iterator[TileId]:
    first, last = round(known["first"] * 1e6), round(max(known["last"], known["ended"]) * 1e6)
    start, stop = TileId.at(level, first).index, TileId.at(level, last).index
    return (TileId(level, index) for index in range(start, stop + 1))


def _finest(known: dict[str, Any], layer: Layer) -> int:
    """The finest level of the layer that a page asks for."""
    if layer.name in (SPANS, PREFIXES, EVENTS):
        return MINIMUM_LEVEL
    if layer.name == PROFILE:
        return FINEST_PROFILE
    assert layer.name in LAYERS
    return finest_series(known)


def finest_series(known: dict[str, Any]) -> int:
    """The finest level of series that a page asks for: finer bins have no more than one sample."""
    return math.ceil(math.log2(known["identity_interval"] / BINS_AN_INTERVAL * 1e6))


def _add_instants(report: Report, scope: Scope, rows: int, progress: Callable[[float], None]) -> None:
    """What was at instants of the run; `rows`: of a state."""
    instants = instants_of(report.info, rows)
    report.step = (instants[-1] - instants[0]) / (len(instants) - 1) / 1e6
    states, figures = states_and_figures(scope, instants, progress)
    report.add("/states", states)
    report.add("/workers", figures)
    if report.info["has_agent"]:
        report.add("/results", largest_results(scope, instants, partial(progress, 1.0)))


def _add_prefixes(report: Report, scope: Scope, goes_on: Callable[[], None]) -> None:
    """What is said of the whole run, whatever the window."""
    with build_connection() as connection:
        found = prefixes_of(connection, scope, *scope.window)
        report.add("/prefixes", found)
        report.add("/groups", groups_of(connection, scope, *scope.window))
        ids = [row["prefix"] for row in found["prefixes"][:DETAILED_PREFIXES]]
        details = prefix_details(connection, scope, ids, *scope.window)
        for id, detail in zip(ids, details, strict=True):
            goes_on()
            report.add(f"/prefixes/{id}", detail)


def _add_notes(report: Report, scope: Scope) -> None:
    """What people wrote in the window. Nothing can be changed in a file."""
    start, stop = from_microseconds(scope.start), from_microseconds(scope.stop)
    reaches = Q(time__gte=start) | Q(stop__gte=start)
    notes = scope.cluster.notes.filter(reaches, time__lte=stop).select_related("author")[:MOST_NOTES]
    if notes:
        report.add("/notes", [note_item(note, False) for note in notes])


def _add_alerts(report: Report, scope: Scope) -> None:
    """What fired in the window, as far as the scope allows."""
    fired = alerts_of(scope)
    if fired["alerts"]:
        report.add("/alerts", fired)


def _add_records(report: Report, scope: Scope) -> None:
    """The last log lines, the first events, and what the processes told of themselves."""
    with read_connection() as connection:
        report.add("/environment", environment_of(connection, scope, *scope.window))
        report.add("/events", list_repeated_events(connection, scope, *scope.window, MOST_EVENTS))
        if Section.LOGS in scope.sections:
            found = search_around(connection, scope, Wanted(), scope.stop, MOST_LINES)
            report.add("/logs", [line_document(line) for line in found.lines])


def _add_stacks(report: Report, scope: Scope) -> None:
    """The stacks that were seen most."""
    with read_connection() as connection, snapshot(connection):
        sums = stack_counts(connection, scope.cluster.pk, scope.start, scope.stop)
        ids = list(dict.fromkeys(stack for *_, stack, _ in sums))[:MOST_STACKS]
        rows = stack_frames(connection, scope.cluster.pk, ids)
    report.add("/stacks", stack_block(rows))
