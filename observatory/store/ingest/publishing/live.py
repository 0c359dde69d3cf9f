"""The columns of stored records that open pages get."""

from __future__ import annotations

import json
from operator import attrgetter

import numpy as np

from observatory.store.ingest.batches.record_columns import Array, Coded, Records
from observatory.store.ingest.interning.lifetime import Lane
from observatory.store.ingest.interning.references import References
from observatory.store.ingest.interning.series import KnownSeries
from observatory.store.ingest.publishing.committed import (
    LiveSamples,
    StoredEvents,
    StoredProfiles,
    StoredSpans,
)
from observatory.store.texts import clean_json
from observatory.wire.layers import BAND


def live_spans(references: References, spans: Records) -> StoredSpans:
    names = references.cluster.names
    return StoredSpans(
        lane=references.ids(spans, "lane_id").astype(np.uint32),
        prefix=references.ids(spans, "prefix_id").astype(np.uint32),
        action=spans.numbers("action"),
        status=spans.numbers("status"),
        start=spans.times,
        stop=spans.stops,
        nbytes=spans.numbers("nbytes").astype(np.float64),
        key=spans.keys(),
        typename=spans.coded("typename").map(lambda typename: names.typenames[typename].text),
        band=references.lanes["span"].numbers(_band_of_lane),
    )


def live_samples(references: References, samples: Records) -> LiveSamples:
    """Of metrics that a layer draws; each takes the place of the one before of its series."""
    series = references.series["sample"]
    rows = np.flatnonzero(series.numbers(_is_drawn, np.bool_))
    drawn = series.where(rows)
    times, values = samples.times[rows], samples.numbers("value")[rows]
    previous_times, previous_values = _previous(drawn, times, values)
    return LiveSamples(
        series=drawn.numbers(attrgetter("id")),
        first=drawn.numbers(attrgetter("first")),
        band=drawn.numbers(_band_of_series),
        metric=drawn.map(lambda known: known.series.metric),
        layer=drawn.map(attrgetter("layer")).merged(),
        counter=drawn.numbers(attrgetter("is_counter"), np.bool_),
        time=times,
        value=values,
        previous_time=previous_times,
        previous_value=previous_values,
    )


def live_events(references: References, events: Records) -> StoredEvents:
    workers = references.ids(events, "worker_id")
    detail = events.coded("detail").map(clean_json)
    return StoredEvents(
        time=events.times,
        worker=np.where(workers == 0, -1, workers),
        kind=events.coded("kind"),
        message=detail.map(lambda text: str(json.loads(text).get("message", ""))),
        detail=detail,
    )


def live_profiles(references: References, profiles: Records) -> StoredProfiles:
    workers = references.ids(profiles, "worker_id")
    [source] = [field for field in profiles.kind.fields if field.name == "source"]
    [(_, sources)] = references.columns(source, profiles)
    assert isinstance(sources, np.ndarray)
    return StoredProfiles(
        time=profiles.times,
        worker=np.where(workers == 0, -1, workers),
        prefix=references.ids(profiles, "prefix_id").astype(np.uint32),
        source=sources.astype(np.uint8),
        stack=references.ids(profiles, "stack_id").astype(np.uint32),
        count=profiles.numbers("count"),
    )


def _previous(series: Coded, times: Array, values: Array) -> tuple[Array, Array]:
    """Time and value of the sample before each, of the same series. An older one doesn't take its place."""
    previous_times, previous_values = np.empty(len(times)), np.empty(len(times))
    rows = zip(series.per_row(), times.tolist(), values.tolist(), strict=True)
    for row, (known, time, value) in enumerate(rows):
        previous_times[row], previous_values[row] = known.time, known.value
        if not time <= known.time:
            known.time, known.value = time, value
    return previous_times, previous_values


def _is_drawn(known: KnownSeries) -> bool:
    return known.layer is not None


def _band_of_lane(lane: Lane) -> int:
    return lane.lifetime.position // BAND


def _band_of_series(known: KnownSeries) -> int:
    return known.lifetime.position // BAND if known.lifetime else 0
