"""Reads the samples that a query of Prometheus asks for."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg
from django.contrib.auth.models import User

from observatory.collect.prometheus.messages_pb2 import Query
from observatory.exchange.prometheus.encoding import Snappy, encode_samples, encode_series
from observatory.exchange.prometheus.selection import ClusterSeries, Matchers, TooMuch, select
from observatory.store.connection import read_connection
from observatory.store.queries.prometheus import samples_between
from observatory.store.times import MAXIMUM_TIME

Array = npt.NDArray[Any]

SERIES_AT_ONCE = 200
"""that are compressed together"""
MOST_AT_ONCE = 1_000_000
"""samples that are in memory as columns"""
FASTEST_GROWTH = 16
MOST_SAMPLES = 8_000_000
"""of an answer: 144 MB before compression"""
LONGEST = 60.0
"""seconds"""
ADVICE = "name a metric, a cluster or a shorter range"
ONLY_LABELS = "series"
"""the function of a query whose answer needs no samples"""
STALE = np.array(0x7FF0_0000_0000_0002, np.uint64).view(np.float64)
"""Prometheus' mark of a series that ended: one of the values that are not a number"""
MILLISECOND, SECOND = 1_000, 1_000_000


class Allowance:
    """What is left for the answer to a request."""

    def __init__(self) -> None:
        self.samples = MOST_SAMPLES
        self.deadline = time.monotonic() + LONGEST

    def take(self, samples: int) -> None:
        """Raises TooMuch."""
        self.samples -= samples
        if self.samples < 0:
            raise TooMuch(f"the query reads more than {MOST_SAMPLES:,} samples: {ADVICE}")
        if time.monotonic() > self.deadline:
            raise TooMuch(f"reading took longer than {LONGEST:g} s: {ADVICE}")


def read_query(query: Query, user: User, allowance: Allowance) -> Snappy:
    """The result of a query over what `user` may see. Raises TooMuch, WrongMatcher and psycopg.Error."""
    start = max(query.start_timestamp_ms, 0) * MILLISECOND
    stop = min(query.end_timestamp_ms * MILLISECOND + MILLISECOND - 1, MAXIMUM_TIME)
    is_only_labels = query.hints.func == ONLY_LABELS
    result = Snappy()
    with read_connection() as connection:
        for window in select(connection, user, Matchers(query.matchers), start, stop):
            if is_only_labels:
                found = [b""] * len(window.series)
            else:
                found = _Samples(window).read(connection, allowance)
            for first in range(0, len(found), SERIES_AT_ONCE):
                places = range(first, min(first + SERIES_AT_ONCE, len(found)))
                result.add(
                    b"".join(
                        encode_series(window.series[place].labels, found[place])
                        for place in places
                        if found[place] or is_only_labels
                    )
                )
                for place in places:
                    found[place] = b""
    return result


class _Samples:
    """The encoded samples of the series of a window.

    They are read stretch by stretch of time, since rows of one time are neighbours: series by series, most of
    the table would be read again and again.
    """

    def __init__(self, window: ClusterSeries) -> None:
        self._window = window
        series = window.series
        self._ids = [id for one in series for id in one.ids]
        self._owners = np.repeat(np.arange(len(series)), [len(one.ids) for one in series])
        ends = [math.inf if end is None else end // MILLISECOND + 1 for one in series for end in one.ends]
        self._ends = np.array(ends)
        """milliseconds, of each id"""
        self._last = np.full(len(ends), -math.inf)
        """time of the last sample that has no mark after it yet"""
        self._encoded: list[list[bytes]] = [[] for _ in series]

    def read(self, connection: psycopg.Connection, allowance: Allowance) -> list[bytes]:
        """By series, each of a window's. Raises TooMuch and psycopg.Error."""
        for latest, found in self._stretches(connection, allowance):
            self._add(latest, found)
        return [b"".join(pieces) for pieces in self._encoded]

    def _stretches(
        self, connection: psycopg.Connection, allowance: Allowance
    ) -> Iterator[tuple[int, dict[str, Array]]]:
        """The stop of each stretch and its samples."""
        start, last = self._window.start, self._window.stop
        width = MOST_AT_ONCE * SECOND // len(self._ids)  # a sample each second, at first
        while start <= last:
            # whole milliseconds: of several samples within one the newest counts
            stop = min((start + width) // MILLISECOND * MILLISECOND - 1, last)
            found = samples_between(
                connection, self._window.cluster, self._ids, start, stop, MOST_AT_ONCE + 1
            )
            rows = len(found["time"])
            if rows > MOST_AT_ONCE:
                allowance.take(0)
                width //= 2
                if width < 2 * MILLISECOND:
                    raise TooMuch(f"there are more than {MOST_AT_ONCE:,} samples in a millisecond")
                continue
            allowance.take(rows)
            yield (self._window.latest if stop == last else stop), found
            start = stop + 1
            width = int(width * min(MOST_AT_ONCE * 0.6 / max(rows, 1), FASTEST_GROWTH))

    def _add(self, latest: int, found: dict[str, Array]) -> None:
        ids, owners = found["place"] - 1, self._owners
        np.maximum.at(self._last, ids, found["time"] // MILLISECOND)
        marked, ended = self._marks(latest // MILLISECOND)
        # marks are first: a sample of the next lifetime at the same time replaces one
        owner = owners[np.concatenate([marked, ids])]
        times = np.concatenate([ended * MILLISECOND, found["time"]])
        values = np.concatenate([np.full(len(ended), STALE), found["value"]])
        order = np.lexsort((times, owner))
        owner, times, values = owner[order], times[order] // MILLISECOND, values[order]
        is_newest = np.append((times[1:] != times[:-1]) | (owner[1:] != owner[:-1]), True)[: len(times)]
        owner, times, values = owner[is_newest], times[is_newest], values[is_newest]
        bounds = np.searchsorted(owner, np.arange(len(self._encoded) + 1))
        rows = encode_samples(times, values)
        for place in np.unique(owner).tolist():
            self._encoded[place].append(rows[bounds[place] : bounds[place + 1]].tobytes())

    def _marks(self, latest: int) -> tuple[Array, Array]:
        """Ids (their places) that ended until `latest` (ms), and when: each after its last sample."""
        at = np.maximum(self._ends, self._last + 1)
        (marked,) = np.nonzero((self._last > -math.inf) & (at <= latest))
        self._last[marked] = -math.inf
        return marked, at[marked].astype(np.int64)
