"""What the cluster page asks for: docs/architecture.md, "HTTP, for the page"."""

from __future__ import annotations

import gzip
import hashlib
from typing import Annotated, Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers
from ninja import Path, Query, Router
from ninja.errors import HttpError

from observatory.clusters.access import get_cluster
from observatory.clusters.models import Cluster
from observatory.replay.information import information
from observatory.replay.layers import Layer
from observatory.replay.levels import LATEST, MAXIMUM_LEVEL, MINIMUM_LEVEL, Place
from observatory.replay.state import state_at
from observatory.replay.tiles import tile
from observatory.store import timeline
from observatory.store.connection import reading
from observatory.store.intervals import Intervals
from observatory.store.stacks import frames_of
from observatory.wire.blocks import encode, number_column, text_column
from observatory.wire.layers import LAYER_OF_METRIC, LAYERS
from observatory.wire.records import Action, Status

router = Router(tags=["replay"])

FOREVER = "private, max-age=31536000, immutable"
COMPRESSED_FROM = 512
"""bytes"""
MOST_STACKS = 200
"""of one answer: they may have 100 kB each, have 2 to 5 usually, and hardly a tenth of that compressed"""
LARGEST_ID = 2**31 - 1
Seconds = Annotated[float, Query(gt=0, lt=LATEST / 1e6, description="on the scheduler's clock")]


@router.get("/clusters/{int:cluster_id}")
def cluster(request: HttpRequest, cluster_id: int) -> dict[str, Any]:
    """What the page has to know of a cluster before it draws."""
    return information(_cluster(request, cluster_id))


@router.get("/clusters/{int:cluster_id}/lanes")
def lanes(request: HttpRequest, cluster_id: int) -> dict[str, Any]:
    """Workers, lanes, prefixes and the series of each layer."""
    found = _cluster(request, cluster_id)
    intervals = Intervals(found.identity_interval, found.metrics_interval)
    with reading() as connection:
        names = timeline.names(connection, found.pk, list(LAYER_OF_METRIC))
    series: dict[str, list[dict[str, Any]]] = {layer: [] for layer in LAYERS}
    for item in names.series:
        layer = LAYER_OF_METRIC[item["metric"]]
        series[layer].append({**item, "interval": intervals.of(item["metric"])})
    return {"workers": names.workers, "lanes": names.lanes, "prefixes": names.prefixes, "series": series}


@router.get("/clusters/{int:cluster_id}/tiles/{layer}/{level}/{index}")
def tiles(
    request: HttpRequest,
    cluster_id: int,
    layer: str,
    level: Annotated[int, Path(ge=MINIMUM_LEVEL, le=MAXIMUM_LEVEL)],
    index: int,
    version: int | None = None,
) -> HttpResponse:
    """One tile, as blocks. `version` is the extent's: with it a closed tile never changes."""
    found = _cluster(request, cluster_id)
    try:
        wanted, place = Layer.parse(layer), Place(level, index)
    except ValueError as error:
        raise HttpError(422, str(error)) from None
    with reading() as connection:
        made = tile(connection, found, wanted, place)
    immutable = made.closed and version == made.version
    return _answer(request, made.body, FOREVER if immutable else "private, no-cache")


@router.get("/clusters/{int:cluster_id}/state")
def state(request: HttpRequest, cluster_id: int, at: Seconds) -> dict[str, Any]:
    """Progress, tasks by state and workers at an instant."""
    found = _cluster(request, cluster_id)
    with reading() as connection, timeline.snapshot(connection):
        return state_at(connection, found, round(at * 1e6))


@router.get("/clusters/{int:cluster_id}/span")
def span(
    request: HttpRequest, cluster_id: int, lane: Annotated[int, Query(ge=0, lt=2**31)], at: Seconds
) -> dict[str, Any]:
    """The span of a lane at an instant; 404 where the lane was idle."""
    found = _cluster(request, cluster_id)
    with reading() as connection:
        row = timeline.span_at(connection, found.pk, lane, round(at * 1e6))
    if row is None:
        raise Http404("The lane was idle then.")
    lane_id, prefix, action, status, start, stop, nbytes, key, typename = row
    return {
        "lane": lane_id,
        "prefix": prefix,
        "action": Action(action).label,
        "status": Status(status).name.lower(),
        "start": start,
        "stop": stop,
        "nbytes": nbytes,
        "key": key,
        "typename": typename,
    }


@router.get("/clusters/{int:cluster_id}/events")
def events(
    request: HttpRequest,
    cluster_id: int,
    after: Annotated[float, Query(ge=0, lt=LATEST / 1e6)] = 0,
    before: Seconds = LATEST / 1e6 - 1,
    limit: Annotated[int, Query(ge=1, le=5000)] = 500,
) -> list[dict[str, Any]]:
    """The first events with after ≤ time < before."""
    found = _cluster(request, cluster_id)
    with reading() as connection:
        rows = timeline.events(connection, found.pk, round(after * 1e6), round(before * 1e6), limit)
    return [
        {"time": time, "worker": worker, "kind": kind, "message": detail.get("message", ""), "detail": detail}
        for time, worker, kind, detail in rows
    ]


@router.get("/clusters/{int:cluster_id}/stacks")
def stacks(request: HttpRequest, cluster_id: int, ids: str) -> HttpResponse:
    """The frames of the stacks that a profile's tiles name, as one block; `ids` are separated by commas."""
    found = _cluster(request, cluster_id)
    wanted = _numbers(ids)
    with reading() as connection:
        rows = frames_of(connection, found.pk, wanted)
    columns = [
        number_column("id", "u32", [stack for stack, _ in rows]),
        text_column("frames", [frames for _, frames in rows]),
    ]
    is_whole = len(rows) == len(set(wanted))
    return _answer(request, encode("stack", len(rows), columns), FOREVER if is_whole else "private, no-cache")


def _numbers(ids: str) -> list[int]:
    """Raises HttpError (422) for what are no ids, and for too many of them."""
    numbers = ids.split(",")
    if len(numbers) > MOST_STACKS:
        raise HttpError(422, f"ids are {len(numbers)}: at most {MOST_STACKS} in a request")
    for number in numbers:
        if not (number.isascii() and number.isdecimal() and len(number) <= 10 and int(number) <= LARGEST_ID):
            raise HttpError(422, f"ids has {number[:50]!r}: each is a number of up to {LARGEST_ID}")
    return [int(number) for number in numbers]


def _cluster(request: HttpRequest, cluster_id: int) -> Cluster:
    assert request.user.is_authenticated
    return get_cluster(request.user, cluster_id)


def _answer(request: HttpRequest, body: bytes, cache_control: str) -> HttpResponse:
    # weak: the same for the compressed and the plain body
    etag = f'W/"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    response = get_conditional_response(request, etag=etag) or _encoded(request, body)
    response["ETag"] = etag
    response["Cache-Control"] = cache_control
    patch_vary_headers(response, ["Accept-Encoding", "Cookie"])
    return response


def _encoded(request: HttpRequest, body: bytes) -> HttpResponse:
    if len(body) < COMPRESSED_FROM or "gzip" not in request.headers.get("Accept-Encoding", ""):
        return HttpResponse(body, content_type="application/octet-stream")
    response = HttpResponse(gzip.compress(body, 1, mtime=0), content_type="application/octet-stream")
    response["Content-Encoding"] = "gzip"
    return response
