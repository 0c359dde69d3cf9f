"""Descriptions of a cluster, or a window of it, that a page needs before it draws."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

import psycopg
from cachetools import LRUCache, cached

from observatory.clusters.live.unheard import unheard_seconds
from observatory.replay.listed_lanes import busiest, listed, series_where
from observatory.replay.pseudonyms import Pseudonyms
from observatory.replay.scope import Scope
from observatory.replay.tiles.builder import recorded_tiles
from observatory.replay.tiles.clipping import clip_extent
from observatory.replay.tiles.extent_block import empty_extent, extent_meta
from observatory.replay.tiles.layers import Layer, band_count
from observatory.replay.tiles.levels import BINS, MAXIMUM_LEVEL, MINIMUM_LEVEL
from observatory.store.connection import read_connection
from observatory.store.queries import agents, timeline
from observatory.store.queries.dimensions import (
    Dimensions,
    dimensions_version,
    prefix_ids,
    read_dimensions,
    read_prefixes,
)
from observatory.store.queries.events import messages_of
from observatory.store.queries.extents import read_extent
from observatory.store.queries.progress import computing_seconds
from observatory.store.queries.windows.other_work import other_prefixes
from observatory.store.series.sample_intervals import SampleIntervals
from observatory.store.times import from_microseconds
from observatory.store.workers.thresholds import DEFAULTS
from observatory.wire.blocks import decode
from observatory.wire.event_kinds import NOT_RECORDED
from observatory.wire.layers import BAND, LAYER_OF_METRIC, LAYERS, PREFIXES, PROFILE, SPANS


def cluster_info(scope: Scope) -> dict[str, Any]:
    """Return the API's cluster object."""
    cluster = scope.cluster
    with read_connection() as connection:
        extent = read_extent(connection, cluster.pk) or empty_extent(cluster)
        has_agent = agents.has_agent(connection, cluster.pk)
        not_recorded = messages_of(connection, scope.cluster.pk, NOT_RECORDED) if scope.is_whole else []
    meta = extent_meta(extent, cluster)
    target, now = cluster.target, time.time()
    info: dict[str, Any] = {
        **(meta if scope.is_whole else clip_extent(meta, scope)),
        "id": cluster.pk,
        "name": cluster.name,
        "project": {"slug": cluster.project.slug, "name": cluster.project.name},
        "target": target
        and {
            "id": target.pk,
            "name": target.name,
            "stream": target.stream,
            "last_error": target.last_error,
        },
        "scheduler_id": cluster.scheduler_id,
        "address": cluster.address,
        "has_agent": has_agent,
        "not_recorded": not_recorded,
        "started": cluster.started.timestamp() if scope.is_whole else scope.start / 1e6,
        "now": now + (target.clock_offset if target else 0.0),
        "unheard": unheard_seconds(cluster, now),
        "identity_interval": cluster.identity_interval,
        "metrics_interval": cluster.metrics_interval,
        "tile_bins": BINS,
        "band": BAND,
        "minimum_level": MINIMUM_LEVEL,
        "minimum_span_level": MINIMUM_LEVEL,
        "maximum_level": MAXIMUM_LEVEL,
        "thresholds": DEFAULTS,
        "is_whole": scope.is_whole,
        "parts": sorted(scope.sections),
        "attached_files": scope.attached_files,
    }
    if not scope.is_whole:
        info |= {
            "name": scope.text(scope.name or cluster.name),
            "task_count": scope.tasks,
            "error_count": scope.errors,
        }
    return info


def lanes(scope: Scope) -> dict[str, Any]:
    """Return the workers, lanes, prefixes and series by layer; for a window those that overlap it.

    `version` is an empty text for a window, where these depend on its records, too.
    """
    cluster = scope.cluster.pk
    intervals = SampleIntervals(scope.cluster.identity_interval, scope.cluster.metrics_interval)
    with read_connection() as connection:
        # first: what is added meanwhile makes it outdated
        version = dimensions_version(connection, cluster)
        dimensions = _dimensions(connection, cluster, version)
        if not scope.is_whole:
            dimensions = _clip(connection, dimensions, scope)
        dimensions, left_out = listed(dimensions)
        prefixes = _shown_prefixes(connection, scope)
        seconds = computing_seconds(connection, cluster, *scope.window)
        named = read_prefixes(connection, cluster, busiest(prefixes, seconds))
        others = other_prefixes(connection, cluster, scope.opened_as, *map(from_microseconds, scope.window))
    if scope.pseudonyms is not None:
        dimensions = _with_pseudonyms(dimensions, scope.pseudonyms)
    series: dict[str, list[dict[str, Any]]] = {layer: [] for layer in LAYERS}
    for item in dimensions.series:
        layer = LAYER_OF_METRIC[item["metric"]]
        series[layer].append({**item, "interval": intervals.of(item["metric"])})
    return {
        "version": version if scope.is_whole else "",
        "workers": dimensions.workers,
        "lanes": dimensions.lanes,
        "prefixes": [
            {
                **prefix,
                "name": scope.text(prefix["name"]),
                "seconds": seconds.get(prefix["id"], 0.0),
                "is_other": prefix["id"] in others,
            }
            for prefix in named
        ],
        "series": series,
        "left_out": {**left_out, "prefixes": len(prefixes) - len(named)},
    }


def prefix_names(scope: Scope, ids: Sequence[int]) -> list[dict[str, Any]]:
    """Return the prefixes with these ids, those of a window where they have spans or profiles in it."""
    with read_connection() as connection:
        known = _shown_prefixes(connection, scope).intersection(ids)
        if len(known) < len(ids):
            known |= _sampled_prefixes(connection, scope).intersection(ids)
        found = read_prefixes(connection, scope.cluster.pk, known)
    return [{**prefix, "name": scope.text(prefix["name"])} for prefix in found]


@cached(LRUCache(4), key=lambda _, cluster, version: (cluster, version), lock=Lock())
def _dimensions(connection: psycopg.Connection, cluster: int, version: str) -> Dimensions:
    """Return the cluster's dimensions of at least that version. They are shared: nobody may change them.

    Reading those of a thousand workers takes 50 ms; each page of the cluster and of its runs needs them.
    """
    return read_dimensions(connection, cluster, list(LAYER_OF_METRIC))


def _with_pseudonyms(dimensions: Dimensions, pseudonyms: Pseudonyms) -> Dimensions:
    text = pseudonyms.text
    return replace(
        dimensions,
        workers=[pseudonyms.item(worker) for worker in dimensions.workers],
        series=[
            {**item, "labels": {name: text(value) for name, value in item["labels"].items()}}
            for item in dimensions.series
        ],
    )


def _clip(connection: psycopg.Connection, dimensions: Dimensions, scope: Scope) -> Dimensions:
    start, stop = scope.start / 1e6, scope.stop / 1e6
    workers = [
        {
            **worker,
            "started": max(worker["started"], start),
            **(
                {}
                if scope.has_final_status(worker["ended"])
                else {"ended": None, "end_reason": "", "status": "running"}
            ),
        }
        for worker in dimensions.workers
        if worker["started"] < stop and (worker["ended"] is None or worker["ended"] > start)
    ]
    known = {worker["id"] for worker in workers}
    clipped = Dimensions(
        workers,
        [lane for lane in dimensions.lanes if lane["worker"] in known],
        series_where(dimensions.series, lambda _, worker: worker is None or worker in known),
    )
    return _recorded(connection, clipped, scope) if scope.is_public else clipped


def _recorded(connection: psycopg.Connection, dimensions: Dimensions, scope: Scope) -> Dimensions:
    """Return the dimensions without the lanes and series that have no records in the window."""
    ids = [id for item in dimensions.series for id in item["ids"]]
    series = timeline.sampled_series(connection, scope.cluster.pk, ids, *scope.window)
    lanes = _lanes_with_spans(connection, scope)
    return replace(
        dimensions,
        lanes=[lane for lane in dimensions.lanes if lane["id"] in lanes],
        series=series_where(dimensions.series, lambda id, _: id in series),
    )


def _lanes_with_spans(connection: psycopg.Connection, scope: Scope) -> set[int]:
    extent = read_extent(connection, scope.cluster.pk)
    bands = band_count(extent.workers) if extent else 0
    tiles = (
        tile for band in range(bands) for _, tile in recorded_tiles(connection, scope, Layer(SPANS, band))
    )
    blocks = (block for tile in tiles for block in decode(tile.body) if "lane" in block.columns)
    return {lane for block in blocks for lane in block.list("lane")}


def _shown_prefixes(connection: psycopg.Connection, scope: Scope) -> set[int]:
    return prefix_ids(connection, scope.cluster.pk) if scope.is_whole else _prefixes(connection, scope)


def _prefixes(connection: psycopg.Connection, scope: Scope) -> set[int]:
    """Return the prefixes with spans in the window."""
    bodies = (tile.body for _, tile in recorded_tiles(connection, scope, Layer(PREFIXES)))
    blocks = (block for body in bodies for block in decode(body) if block.kind == "busy")
    return {prefix for block in blocks for prefix in block.list("prefix")}


def _sampled_prefixes(connection: psycopg.Connection, scope: Scope) -> set[int]:
    """Return the prefixes with samples of profiles in the window: methods of actors have no spans there."""
    bodies = (tile.body for _, tile in recorded_tiles(connection, scope, Layer(PROFILE)))
    blocks = (block for body in bodies for block in decode(body) if block.kind == "profile")
    return {prefix for block in blocks for prefix in block.list("prefix")}
