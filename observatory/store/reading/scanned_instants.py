"""Has queries about an instant read archived samples that a scan finds in files: the last ones before it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING

import psycopg

from observatory.store.archive.catalogue import Piece
from observatory.store.archive.scans.conditions import INSTANT, Condition, OneOf
from observatory.store.queries.progress import PREFIX_TOTALS
from observatory.store.queries.state import HEARTBEAT, heartbeat_series
from observatory.store.reading.scanning import LONGEST, of_files, one_snapshot, removed_kinds
from observatory.store.times import from_microseconds

if TYPE_CHECKING:  # imports pyarrow, which not each process needs
    from observatory.store.archive.place import Place
    from observatory.store.archive.scans.last_samples import IsEnough
    from observatory.store.archive.scans.samples import SomeSamples

EACH = 3
"""samples of a series: a rate needs two, and the last one can be at the end of a window, which it excludes"""


@contextmanager
def scanned_samples(
    connection: psycopg.Connection,
    cluster: int,
    instants: Sequence[tuple[int, int]],
    metrics: Collection[str],
) -> Iterator[None]:
    """Queries of the block find the last archived samples of stretches of time, and hardly any others.

    `instants`: the stretches (microseconds), both ends included, of which the second is an instant. Found are
    the last samples of `metrics` in each, and before each instant what `entered_until` reads; before the last
    one also what `last_heard` reads. Raises NoPlace, ArchiveError, AskerGone and psycopg.Error.
    """
    with one_snapshot(connection) as reader:
        pieces = None if reader is None else removed_kinds(reader, cluster, ["sample"]).get("sample")
        if reader is None or pieces is None:
            yield
            return
        from observatory.store.archive.restoring.ids import Ids
        from observatory.store.archive.scans.last_samples import table_of
        from observatory.store.archive.scans.shadows import Shadow

        heard = heartbeat_series(reader, cluster, instants[-1][1])
        found = of_files(pieces, lambda place: _samples(place, pieces, instants, metrics, *heard))
        if found is None:  # or files were replaced meanwhile: queries bring the kind back
            yield
            return
        shadow = Shadow(reader, cluster, "sample")
        try:
            if found:
                shadow.add(table_of(found, Ids(reader, cluster)))
            yield
        finally:
            shadow.drop()


def _samples(
    place: Place,
    pieces: Sequence[Piece],
    instants: Sequence[tuple[int, int]],
    metrics: Collection[str],
    heard: AbstractSet[tuple[int, str, str]],
    since: datetime | None,
) -> list[SomeSamples] | None:
    """None: reading them takes long, such as where a worker was not heard for hours."""
    from observatory.store.archive.scans.last_samples import last_samples

    wanted: list[tuple[Condition, int, IsEnough | None]] = []
    for first, at in instants:
        stop = from_microseconds(at) + INSTANT
        wanted.append((_of(metrics, from_microseconds(first), stop), EACH, None))
        wanted.append((_of([PREFIX_TOTALS], None, stop), 1, bool))
    if heard:
        wanted.append((_of([HEARTBEAT], since, stop), EACH, lambda names: heard <= set(names)))
    until = monotonic() + LONGEST
    found: list[SomeSamples] = []
    for condition, each, is_enough in wanted:
        samples = last_samples(place, pieces, condition, each, until, is_enough)
        if samples is None:
            return None
        found += samples
    return found


def _of(metrics: Collection[str], start: datetime | None, stop: datetime) -> Condition:
    return Condition((OneOf(("metric",), frozenset(metrics)),), start, stop)
