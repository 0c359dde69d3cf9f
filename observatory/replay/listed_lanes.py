"""What an answer lists of a cluster's workers, lanes, prefixes and series: as much as a page can draw."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from observatory.base.api_response import encode_json
from observatory.store.queries.dimensions import Dimensions

MOST_PREFIXES = 2_000
MOST_LANES = 100_000
MOST_BYTES = 4 << 20
"""of workers, and of series, as JSON: some 10,000 workers, or the series of as many"""

Item = dict[str, Any]


def busiest(prefixes: Collection[int], seconds: Mapping[int, float]) -> list[int]:
    """Return the ids of the prefixes that are listed: those that computed longest, then the first ones."""
    return sorted(prefixes, key=lambda id: (-seconds.get(id, 0.0), id))[:MOST_PREFIXES]


def listed(dimensions: Dimensions) -> tuple[Dimensions, dict[str, int]]:
    """Return the dimensions that are listed, the newest workers first, and how many of each are left out."""
    newest = sorted(dimensions.workers, key=lambda worker: (worker["started"], worker["id"]), reverse=True)
    known = {worker["id"] for worker in _within(newest, _size)}
    workers = [worker for worker in dimensions.workers if worker["id"] in known]
    lanes = [lane for lane in dimensions.lanes if lane["worker"] in known][:MOST_LANES]
    series = (
        series_where(dimensions.series, lambda _, worker: worker is None or worker in known)
        if len(known) < len(dimensions.workers)
        else dimensions.series
    )
    shown = Dimensions(workers, lanes, _within(series, _size))
    return shown, {
        "workers": len(dimensions.workers) - len(shown.workers),
        "lanes": len(dimensions.lanes) - len(shown.lanes),
        "series": _count(dimensions.series) - _count(shown.series),
    }


def series_where(series: Iterable[Item], is_shown: Callable[[int, int | None], bool]) -> list[Item]:
    """Return the series for whose id and worker `is_shown` returns true."""
    found = []
    for item in series:
        pairs = zip(item["ids"], item["workers"], strict=True)
        if shown := [(id, worker) for id, worker in pairs if is_shown(id, worker)]:
            ids, workers = zip(*shown, strict=True)
            found.append({**item, "ids": list(ids), "workers": list(workers)})
    return found


def _within(items: Iterable[Item], size: Callable[[Item], int]) -> list[Item]:
    """Return the first items that have MOST_BYTES together."""
    found, left = [], MOST_BYTES
    for item in items:
        left -= size(item)
        if left < 0:
            break
        found.append(item)
    return found


def _size(item: Item) -> int:
    return len(encode_json(item))


def _count(series: Iterable[Item]) -> int:
    return sum(len(item["ids"]) for item in series)
