"""Records of a batch as rows of the time-series tables."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
import psycopg

from observatory.store.accepted import Accepted
from observatory.store.committed import Array, LiveSample, StoredEvent, StoredSpans
from observatory.store.copying import copy_rows, timestamps
from observatory.store.keys import encode_key
from observatory.store.lifetimes import Lane, Workers
from observatory.store.names import Names
from observatory.store.series import Known, is_counter
from observatory.store.texts import clean_json, clean_name
from observatory.wire.records import clean_key


def copy_spans(
    connection: psycopg.Connection, accepted: Accepted, lanes: Sequence[Lane], names: Names
) -> StoredSpans | None:
    """Stores the spans; `lanes` holds the lane of each."""
    spans = accepted.spans
    if not spans:
        return None
    groups = [names.groups[span.group] for span in spans]
    typenames = [names.typenames[span.typename] for span in spans]
    keys = [clean_key(span.key) for span in spans]
    lane = _integers([lane.id for lane in lanes])
    prefix = _integers([names.prefixes[span.prefix].id for span in spans])
    action = np.array([span.action for span in spans], np.int16)
    status = np.array([span.status for span in spans], np.int16)
    nbytes = np.array([span.nbytes for span in spans], np.int64)
    columns = {
        "start": timestamps(accepted.starts),
        "stop": timestamps(accepted.stops),
        "nbytes": nbytes,
        "cluster_id": _repeated(accepted.cluster, len(spans)),
        "lane_id": lane,
        "prefix_id": prefix,
        "group_id": _integers([group.id for group in groups]),
        "typename_id": _integers([typename.id for typename in typenames]),
        "action": action,
        "status": status,
    }
    rests = [encode_key(key, group.text) for key, group in zip(keys, groups, strict=True)]
    copy_rows(connection, "span", columns, ("key_rest", rests))
    return StoredSpans(
        lane=lane.astype(np.uint32),
        prefix=prefix.astype(np.uint32),
        action=action.astype(np.uint8),
        status=status.astype(np.uint8),
        start=accepted.starts,
        stop=accepted.stops,
        nbytes=nbytes.astype(np.float64),
        keys=keys,
        typenames=[typename.text for typename in typenames],
    )


def copy_samples(
    connection: psycopg.Connection, accepted: Accepted, series: Sequence[Known]
) -> list[LiveSample]:
    """Stores the samples; `series` holds the series of each. Returns those that a layer draws."""
    samples = accepted.samples
    if not samples:
        return []
    columns = {
        "time": timestamps(accepted.sampled),
        "value": np.array([sample.value for sample in samples], np.float64),
        "series_id": _integers([known.id for known in series]),
        "cluster_id": _repeated(accepted.cluster, len(samples)),
    }
    copy_rows(connection, "sample", columns)
    live: list[LiveSample] = []
    for sample, known in zip(samples, series, strict=True):
        if known.layer is None:
            continue
        live.append(
            LiveSample(
                series=known.id,
                metric=known.metric,
                layer=known.layer,
                counter=is_counter(known),
                time=sample.time,
                value=sample.value,
                previous_time=known.time,
                previous_value=known.value,
            )
        )
        if math.isnan(known.time) or sample.time > known.time:
            known.time, known.value = sample.time, sample.value
    return live


def copy_events(connection: psycopg.Connection, accepted: Accepted, workers: Workers) -> list[StoredEvent]:
    """Stores the events; the worker of one is left out where the address had none."""
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


def _integers(values: list[int]) -> Array:
    return np.array(values, np.int32)


def _repeated(value: int, rows: int) -> Array:
    return np.full(rows, value, np.int32)
