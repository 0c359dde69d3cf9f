from __future__ import annotations

import json
import math
from collections import defaultdict
from typing import Annotated, Any

from pydantic import Field

from observatory.assistants.answers import Answer, time_text
from observatory.assistants.rest_api import Api
from observatory.assistants.run_reading import Moment, Records, RunId, RunReading, open_run

MOST_SERIES, MOST_PAGES, PAGE = 20, 40, 10_000
Series = tuple[str, str]
"""worker and labels"""


async def metrics(
    api: Api,
    run: RunId,
    metric: Annotated[str, Field(max_length=200, description="its name; without one all are listed")] = "",
    worker: Annotated[str, Field(max_length=200, description="name or address")] = "",
    labels: Annotated[str, Field(max_length=200, description="part of the labels, such as managed")] = "",
    start: Moment = None,
    stop: Moment = None,
    points: Annotated[int, Field(ge=1, le=100, description="of each series")] = 20,
) -> Answer:
    """Metrics over time, of the cluster, the scheduler and each worker: means and greatest values of equal
    parts of the window. Without `metric`: the metrics that there are.

    Often asked for: observatory_cluster_memory_bytes, observatory_worker_memory_bytes,
    observatory_prefix_memory_bytes (labels prefix), observatory_worker_cpu_percent,
    observatory_worker_gil_contention_ratio, observatory_scheduler_event_loop_interval_seconds,
    observatory_scheduler_cpu_percent, observatory_cluster_tasks (labels state).
    """
    reading = await open_run(api, run)
    if not metric:
        return Answer({"metrics": await _names(reading)}, {"run": reading.link()})
    begin, end = await _bounds(reading, start, stop)
    series, is_complete = await _series(reading, metric, worker, labels, begin, end)
    ordered = sorted(series.items(), key=lambda each: (-max(one[1] for one in each[1]), each[0]))
    width = max(end - begin, 1e-6) / points
    recorded = {
        "metric": metric,
        "start": time_text(begin),
        "point_seconds": width,
        "series": [_summary(name, samples, begin, width, points) for name, samples in ordered[:MOST_SERIES]],
        "other_series": max(len(ordered) - MOST_SERIES, 0),
        "is_complete": is_complete,
    }
    return Answer(recorded, {"run": reading.link("status", **{"from": begin, "to": end})})


async def _names(reading: RunReading) -> list[dict[str, Any]]:
    layers = (await reading.lanes())["series"]
    labels: dict[str, set[str]] = defaultdict(set)
    for each in (one for layer in layers.values() for one in layer):
        labels[each["metric"]] |= set(each["labels"])
    return [{"metric": name, "labels": sorted(found)} for name, found in sorted(labels.items())]


async def _bounds(reading: RunReading, start: Moment, stop: Moment) -> tuple[float, float]:
    info = await reading.timeline("")
    begin, end = reading.seconds(start), reading.seconds(stop)
    return info["first"] if begin is None else begin, info["last"] if end is None else end


async def _series(
    reading: RunReading, metric: str, worker: str, labels: str, begin: float, end: float
) -> tuple[dict[Series, list[tuple[float, float]]], bool]:
    """The samples (time, value) of each series; whether these are all."""
    series: dict[Series, list[tuple[float, float]]] = defaultdict(list)
    mark: str | None = None
    for _ in range(MOST_PAGES):
        found = await reading.records(
            "sample", PAGE, mark, start=begin, stop=end, column="metric", value=metric
        )
        _add(series, found, worker, labels)
        mark = found.following
        if mark is None:
            break
    return series, mark is None


def _add(series: dict[Series, list[tuple[float, float]]], found: Records, worker: str, labels: str) -> None:
    names = ("worker_name", "worker", "labels", "time", "value")
    for name, address, of, time, value in zip(*(found.columns[each] for each in names), strict=True):
        if worker in ("", name, address) and labels in of and not math.isnan(value):
            series[name or address, of].append((time, value))


def _summary(
    name: Series, samples: list[tuple[float, float]], begin: float, width: float, points: int
) -> dict[str, Any]:
    values = [value for _, value in samples]
    parts: list[list[float]] = [[] for _ in range(points)]
    for time, value in samples:
        parts[min(max(int((time - begin) / width), 0), points - 1)].append(value)
    return {
        "worker": name[0],
        "labels": json.loads(name[1]),
        "samples": len(samples),
        "first": values[0],
        "last": values[-1],
        "least": min(values),
        "mean": math.fsum(values) / len(values),
        "greatest": max(values),
        "greatest_at": time_text(max(samples, key=lambda each: each[1])[0]),
        "means": [math.fsum(part) / len(part) if part else None for part in parts],
        "greatests": [max(part) if part else None for part in parts],
    }
