"""HTTP API of the timeline of a cluster, or of a window of it."""

from __future__ import annotations

import gzip
import hashlib
import struct
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers
from ninja import Path, Query
from ninja.errors import HttpError

from observatory.clusters.access import get_cluster
from observatory.replay import cluster_info
from observatory.replay.answers.router import AnswerRouter
from observatory.replay.answers.window_answer import LATEST, After, Seconds, window_of
from observatory.replay.lineage import lineage_of, stolen_tasks
from observatory.replay.lineage_schemas import Lineage, StolenTasks
from observatory.replay.logs.api import add_log_routes
from observatory.replay.playhead_schemas import ResultsInMemory, RunningSpan, WorkerFigures
from observatory.replay.progress import complete_keyframes
from observatory.replay.results import results_of
from observatory.replay.scanned_state import scanned_state
from observatory.replay.schemas import (
    ClusterInfo,
    EventItem,
    Lanes,
    PrefixName,
    SpanDetail,
    State,
)
from observatory.replay.scope import Scope, Section, require
from observatory.replay.state import state_at
from observatory.replay.tiles.events import list_events, list_repeated_events
from observatory.replay.tiles.layers import Layer
from observatory.replay.tiles.levels import MAXIMUM_LEVEL, MINIMUM_LEVEL, TileId
from observatory.replay.tiles.profiles import stack_block
from observatory.replay.tiles.requested_tiles import requested_tiles
from observatory.replay.tiles.tile import Tile
from observatory.replay.windows.api import Identifier, WorkerId, add_window_routes
from observatory.replay.windows.outlier_schemas import Outliers
from observatory.replay.windows.outliers import outliers_of
from observatory.replay.worker_figures import running_on, worker_figures
from observatory.store.connection import build_connection, read_connection
from observatory.store.queries import timeline
from observatory.store.queries.stacks import stack_frames, stacks_seen_between
from observatory.wire.layers import PROFILE
from observatory.wire.records import MAXIMUM_KEY_LENGTH, Action, Status

FOREVER = "private, max-age=31536000, immutable"
REVALIDATED = "private, no-cache"
MAXIMUM_STACKS = 200
"""stacks in one response; each usually has 2 to 5 kB, at most 100 kB, and compresses to a tenth"""
MAXIMUM_NAMES = 200
"""names of prefixes in one response"""
MAXIMUM_TEXT = 200
MAXIMUM_TILES = 12
"""tiles in one response"""
TILE_NAMES = "comma-separated tiles, each layer/level/index"
LARGEST_ID = 2**31 - 1

Item = dict[str, Any]


def timeline_router(word: str, scope_of: Callable[[HttpRequest], Scope], **options: Any) -> AnswerRouter:
    """Return the routes of a timeline, below the URL from which `scope_of` finds the scope.

    `word` names what the URL identifies, in the ids of the operations.
    """
    router = AnswerRouter(scope_of, tags=["replay"], **options)

    @router.get("", operation_id=f"{word}_information", response=ClusterInfo)
    def info(request: HttpRequest) -> Item:
        """The cluster or window, and constants that the page needs before it draws."""
        return cluster_info.cluster_info(router.scope_of(request))

    @router.get("/lanes", operation_id=f"{word}_lanes", response=Lanes)
    def lanes(request: HttpRequest) -> Item:
        """Workers, lanes, prefixes and the series of each layer."""
        return cluster_info.lanes(router.scope_of(request))

    @router.get("/prefix-names", operation_id=f"{word}_prefix_names", response=list[PrefixName])
    def prefix_names(request: HttpRequest, ids: str) -> list[Item]:
        """The names of prefixes that `/lanes` leaves out; `ids` are comma-separated."""
        return cluster_info.prefix_names(router.scope_of(request), _parse_ids(ids, MAXIMUM_NAMES))

    @router.get("/tiles/{layer}/{level}/{index}", operation_id=f"{word}_tile")
    def tiles(
        request: HttpRequest,
        layer: str,
        level: Annotated[int, Path(ge=MINIMUM_LEVEL, le=MAXIMUM_LEVEL)],
        index: int,
        version: int | None = None,
    ) -> HttpResponse:
        """One tile, as blocks. With `version`, the extent's, a closed tile is immutable."""
        scope = router.scope_of(request)
        [tile] = requested_tiles(scope, [_parse_tile(scope, layer, level, index)])
        return _response(request, tile.packed, _cache_control(scope, [tile], version), _gzipped)

    @router.get("/tiles", operation_id=f"{word}_tiles")
    def many_tiles(
        request: HttpRequest,
        of: Annotated[str, Query(max_length=MAXIMUM_TEXT * MAXIMUM_TILES, description=TILE_NAMES)],
        version: int | None = None,
    ) -> HttpResponse:
        """Several tiles: of each its length in bytes (32 bits, little-endian) and its blocks, gzipped."""
        scope = router.scope_of(request)
        found = requested_tiles(scope, [_parse_tile(scope, *name) for name in _parse_names(of)])
        body = b"".join(struct.pack("<I", len(tile.packed)) + tile.packed for tile in found)
        return _response(request, body, _cache_control(scope, found, version), _binary)

    @router.get("/state", operation_id=f"{word}_state", response=State)
    def state(request: HttpRequest, at: Seconds) -> Item:
        """Progress, tasks by state, and workers at a point in time."""
        scope = router.scope_of(request)
        complete_keyframes(scope.cluster)
        instant = round(at * 1e6)
        with (
            read_connection() as connection,
            timeline.snapshot(connection),
            scanned_state(connection, scope, instant),
        ):
            return state_at(connection, scope, instant)

    @router.get("/results", operation_id=f"{word}_results", response=ResultsInMemory)
    def results(
        request: HttpRequest,
        at: Seconds,
        text: Annotated[str, Query(max_length=MAXIMUM_TEXT, description="what keys contain")] = "",
        worker: WorkerId = None,
    ) -> Item:
        """The results in memory at a point in time by key, the largest first."""
        with build_connection() as connection:
            return results_of(connection, router.scope_of(request), round(at * 1e6), text.strip(), worker)

    @router.get("/workers", operation_id=f"{word}_workers", response=list[WorkerFigures])
    def workers(request: HttpRequest, at: Seconds) -> list[Item]:
        """What each worker reported last at a point in time, beside the state."""
        with read_connection() as connection:
            return worker_figures(connection, router.scope_of(request), round(at * 1e6))

    @router.get("/workers/{worker}/running", operation_id=f"{word}_running", response=list[RunningSpan])
    def running(request: HttpRequest, worker: Identifier, at: Seconds) -> list[Item]:
        """What the threads of a worker did at a point in time."""
        with read_connection() as connection:
            return running_on(connection, router.scope_of(request), worker, round(at * 1e6))

    @router.get("/span", operation_id=f"{word}_span", response=SpanDetail)
    def span(request: HttpRequest, lane: Annotated[int, Query(ge=0, lt=2**31)], at: Seconds) -> Item:
        """The span of a lane at a point in time; 404 if the lane was idle."""
        return _span(router.scope_of(request), lane, round(at * 1e6))

    @router.get("/lineage", operation_id=f"{word}_lineage", response=Lineage)
    def lineage(request: HttpRequest, key: Annotated[str, Query(max_length=MAXIMUM_KEY_LENGTH)]) -> Item:
        """What the task with exactly this key was made of, and what was made of it."""
        scope = router.scope_of(request)
        with read_connection() as connection, timeline.snapshot(connection):
            return lineage_of(connection, scope, key)

    @router.get("/stolen", operation_id=f"{word}_stolen", response=StolenTasks)
    def stolen(request: HttpRequest, after: After = 0, before: Seconds = LATEST) -> Item:
        """The first stolen tasks with after ≤ time < before."""
        scope = router.scope_of(request)
        with read_connection() as connection:
            return stolen_tasks(connection, scope, round(after * 1e6), round(before * 1e6))

    @router.get("/events", operation_id=f"{word}_events", response=list[EventItem])
    def events(
        request: HttpRequest,
        after: After = 0,
        before: Seconds = LATEST,
        limit: Annotated[int, Query(ge=1, le=5000)] = 500,
        grouped: bool = False,
    ) -> list[Item]:
        """The first events with after ≤ time < before; with `grouped` those that repeat are one."""
        list_them = list_repeated_events if grouped else list_events
        with read_connection() as connection:
            window = window_of(after, before)
            return list_them(connection, router.scope_of(request), *window, limit)

    @router.get("/outliers", operation_id=f"{word}_outliers", response=Outliers)
    def outliers(request: HttpRequest, after: After = 0, before: Seconds = LATEST) -> Item:
        """What stands out with after ≤ time < before: of each figure the ten with the greatest value."""
        window = window_of(after, before)
        with read_connection() as connection:
            return outliers_of(connection, router.scope_of(request), *window)

    @router.get("/stacks", operation_id=f"{word}_stacks")
    def stacks(request: HttpRequest, ids: str) -> HttpResponse:
        """The frames of stacks, as one block; `ids` are comma-separated."""
        scope = router.scope_of(request)
        require(scope, Section.CODE)
        return _stacks(request, scope, _parse_ids(ids, MAXIMUM_STACKS))

    add_window_routes(router, word)
    add_log_routes(router, word)
    return router


def scope_of_cluster(request: HttpRequest) -> Scope:
    """Return the scope of the cluster in the URL. Raises Http404 as get_cluster does."""
    assert request.user.is_authenticated
    assert request.resolver_match is not None
    return Scope(get_cluster(request.user, request.resolver_match.kwargs["cluster_id"]))


clusters = timeline_router("cluster", scope_of_cluster)


def _parse_names(names: str) -> list[tuple[str, int, int]]:
    """Parse comma-separated names of tiles. Raises HttpError (422) for anything else, and for too many."""
    split = [name.split("/") for name in names.split(",")]
    if len(split) > MAXIMUM_TILES:
        raise HttpError(422, f"of names {len(split)} tiles: at most {MAXIMUM_TILES} per request")
    try:
        return [(layer, int(level), int(index)) for layer, level, index in split]
    except ValueError:
        raise HttpError(422, f"of is {names[:MAXIMUM_TEXT]!r}: it has {TILE_NAMES}") from None


def _parse_tile(scope: Scope, layer: str, level: int, index: int) -> tuple[Layer, TileId]:
    """Raises HttpError (422) for what is no tile, and Http404 for a layer that isn't shared."""
    try:
        parsed, tile_id = Layer.parse(layer), TileId(level, index)
    except ValueError as error:
        raise HttpError(422, str(error)) from None
    if parsed.name == PROFILE:
        require(scope, Section.CODE)
    return parsed, tile_id


def _cache_control(scope: Scope, tiles: Sequence[Tile], version: int | None) -> str:
    is_immutable = all(tile.closed and version == tile.version for tile in tiles)
    return FOREVER if is_immutable and not scope.is_public else REVALIDATED


def _span(scope: Scope, lane: int, at: int) -> dict[str, Any]:
    with read_connection() as connection:
        row = timeline.span_at(connection, scope.cluster.pk, lane, at)
    if row is None or not scope.start <= at < scope.stop:
        raise Http404("The lane was idle then.")
    lane_id, prefix, action, status, start, stop, nbytes, key, typename = row
    return {
        "lane": lane_id,
        "prefix": prefix,
        "action": Action(action).label,
        "status": Status(status).name.lower(),
        "start": max(start, scope.start / 1e6),
        "stop": min(stop, scope.stop / 1e6),
        "nbytes": nbytes,
        "key": scope.text(key),
        "typename": scope.text(typename),
    }


def _stacks(request: HttpRequest, scope: Scope, ids: list[int]) -> HttpResponse:
    with read_connection() as connection:
        if not scope.is_whole:
            ids = stacks_seen_between(connection, scope.cluster.pk, ids, *scope.window)
        rows = stack_frames(connection, scope.cluster.pk, ids)
    is_complete = len(rows) == len(set(ids)) and not scope.is_public
    shown = [(id, scope.text(frames)) for id, frames in rows]
    packed = gzip.compress(stack_block(shown), 1, mtime=0)
    return _response(request, packed, FOREVER if is_complete else REVALIDATED, _gzipped)


def _parse_ids(ids: str, most: int) -> list[int]:
    """Parse comma-separated ids. Raises HttpError (422) for anything else, and for too many."""
    numbers = ids.split(",")
    if len(numbers) > most:
        raise HttpError(422, f"ids are {len(numbers)}: at most {most} per request")
    for number in numbers:
        if not (number.isascii() and number.isdecimal() and len(number) <= 10 and int(number) <= LARGEST_ID):
            raise HttpError(422, f"ids has {number[:50]!r}: each is a number of up to {LARGEST_ID}")
    return [int(number) for number in numbers]


def _response(
    request: HttpRequest,
    content: bytes,
    cache_control: str,
    respond: Callable[[HttpRequest, bytes], HttpResponse],
) -> HttpResponse:
    """Return the response with `content`, or 304 where the browser has it."""
    # weak, as it is the same for the compressed and the plain body
    etag = f'W/"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
    response = get_conditional_response(request, etag=etag) or respond(request, content)
    response["ETag"] = etag
    response["Cache-Control"] = cache_control
    patch_vary_headers(response, ["Accept-Encoding", "Cookie"])
    return response


def _binary(request: HttpRequest, content: bytes) -> HttpResponse:
    return HttpResponse(content, content_type="application/octet-stream")


def _gzipped(request: HttpRequest, packed: bytes) -> HttpResponse:
    """Leave it to the browser to unpack gzipped content, where it can."""
    if "gzip" not in request.headers.get("Accept-Encoding", ""):
        return _binary(request, gzip.decompress(packed))
    response = _binary(request, packed)
    response["Content-Encoding"] = "gzip"
    return response
