"""Records of a batch as rows of the time-series tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from operator import attrgetter

import numpy as np
import psycopg

from observatory.store.ingest.committed import Array, LiveSample, StoredEvent, StoredSpans
from observatory.store.ingest.copying import Part, copy_rows, timestamps
from observatory.store.ingest.lifetimes import Lane, Workers
from observatory.store.ingest.names import Name, Names
from observatory.store.ingest.series import Known
from observatory.store.ingest.validated import Accepted, Samples, Spans
from observatory.store.keys import clean_keys, encode_keys
from observatory.store.texts import clean_json, clean_name
from observatory.wire.layers import BAND

ID = attrgetter("id")
TEXT = attrgetter("text")


def copy_spans(
    connection: psycopg.Connection, cluster: int, spans: Spans, lanes: Sequence[Lane], names: Names
) -> StoredSpans | None:
    """Stores the spans; `lanes` holds the lane of each."""
    if not len(spans):
        return None
    lane = _ids(lanes)
    prefix = _ids(map(names.prefixes.__getitem__, spans.prefixes))
    keys: list[str] = []

    def part_of(part: slice) -> Part:
        groups = list(map(names.groups.__getitem__, spans.groups[part]))
        cleaned = clean_keys(spans.keys[part])
        keys.extend(cleaned)
        columns = {
            "start": timestamps(spans.starts[part]),
            "stop": timestamps(spans.stops[part]),
            "nbytes": spans.nbytes[part],
            "cluster_id": _repeated(cluster, len(cleaned)),
            "lane_id": lane[part],
            "prefix_id": prefix[part],
            "group_id": _ids(groups),
            "typename_id": _ids(map(names.typenames.__getitem__, spans.typenames[part])),
            "action": spans.actions[part].astype(np.int16),
            "status": spans.statuses[part].astype(np.int16),
        }
        return Part(columns, "key_rest", encode_keys(cleaned, map(TEXT, groups)))

    copy_rows(connection, "span", len(spans), part_of)
    return StoredSpans(
        lane=lane.astype(np.uint32),
        prefix=prefix.astype(np.uint32),
        action=spans.actions,
        status=spans.statuses,
        start=spans.starts,
        stop=spans.stops,
        nbytes=spans.nbytes.astype(np.float64),
        keys=keys,
        typenames=list(map(TEXT, map(names.typenames.__getitem__, spans.typenames))),
        band=_bands(lane, lanes),
    )


def copy_samples(
    connection: psycopg.Connection, cluster: int, samples: Samples, series: Sequence[Known]
) -> list[LiveSample]:
    """Stores the samples; `series` holds the series of each. Returns those that a layer draws."""
    if not len(samples):
        return []
    ids = _ids(series)

    def part_of(part: slice) -> Part:
        times = timestamps(samples.times[part])
        cluster_id = _repeated(cluster, len(times))
        columns = {
            "time": times,
            "value": samples.values[part],
            "series_id": ids[part],
            "cluster_id": cluster_id,
        }
        return Part(columns)

    copy_rows(connection, "sample", len(samples), part_of)
    drawn = [index for index, known in enumerate(series) if known.layer is not None]
    return [
        _live(series[index], float(samples.times[index]), float(samples.values[index])) for index in drawn
    ]


def _live(known: Known, time: float, value: float) -> LiveSample:
    """The sample with the one before it, which it takes the place of."""
    live = LiveSample(
        series=known.id,
        first=known.first,
        band=known.lifetime.position // BAND if known.lifetime else 0,
        metric=known.series.metric,
        layer=known.layer or "",
        counter=known.is_counter,
        time=time,
        value=value,
        previous_time=known.time,
        previous_value=known.value,
    )
    if not time <= known.time:
        known.time, known.value = time, value
    return live


def copy_events(connection: psycopg.Connection, accepted: Accepted, workers: Workers) -> list[StoredEvent]:
    """Stores the events; the worker of one is left out where the address had none."""
    addresses = {clean_name(event.worker) for event in accepted.events}
    workers.load(connection, addresses)
    stored: list[StoredEvent] = []
    for event in accepted.events:
        lifetime = workers.find(clean_name(event.worker), event.time) if event.worker else None
        kind, detail = clean_name(event.kind), clean_json(event.detail)
        message = str(json.loads(detail).get("message", ""))
        stored.append(StoredEvent(event.time, lifetime.id if lifetime else -1, kind, message, detail))
    if stored:
        connection.cursor().executemany(
            """INSERT INTO event (time, cluster_id, worker_id, kind, detail)
               VALUES (to_timestamp(%s), %s, nullif(%s, -1), %s, %s)""",
            [(event.time, accepted.cluster, event.worker, event.kind, event.detail) for event in stored],
        )
    return stored


def _bands(ids: Array, lanes: Sequence[Lane]) -> Array | None:
    bands = {lane.id: lane.lifetime.position // BAND for lane in set(lanes)}
    if not any(bands.values()):
        return None
    known = np.array(sorted(bands), np.int64)
    return np.array([bands[id] for id in known.tolist()], np.int64)[np.searchsorted(known, ids)]


def _ids(rows: Iterable[Lane | Name | Known]) -> Array:
    return np.fromiter(map(ID, rows), np.int32)


def _repeated(value: int, rows: int) -> Array:
    return np.full(rows, value, np.int32)
