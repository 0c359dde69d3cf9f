"""The limits on the number of series of a cluster, by kind: no kind takes the room of another."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from enum import Enum

from observatory.wire.metrics import METRICS, PREFIX_LABELS
from observatory.wire.records import Series

MAXIMUM_REFUSED = 100_000
"""Most refused series that are counted."""
ENTRY, WORKER = 100, 500
"""Bytes of memory of a series, and of a kind of a worker's beside its series."""


class SeriesKind(Enum):
    """The value names it in messages."""

    OF_WORKERS = "Dask's and Observatory's metrics of a worker"
    OF_CLUSTER = "Dask's and Observatory's metrics of the scheduler and the cluster"
    OF_PREFIXES = "metrics by prefix"
    OTHER = "metrics of other programs"


LIMITS = {SeriesKind.OF_WORKERS: 300, SeriesKind.OF_CLUSTER: 5_000, SeriesKind.OF_PREFIXES: 20_000}
"""Most series of a kind: of workers for each worker, otherwise for the cluster."""


def kind_of(series: Series) -> SeriesKind:
    if series.metric not in METRICS:
        return SeriesKind.OTHER
    for label, _ in series.labels:
        if label in PREFIX_LABELS:
            return SeriesKind.OF_PREFIXES
    return SeriesKind.OF_WORKERS if series.worker else SeriesKind.OF_CLUSTER


class SeriesLimit:
    """Admits series up to the limit of their kind. Admitted series stay, until their worker leaves."""

    def __init__(self, limit: int, known: Iterable[Series] = ()) -> None:
        self.limit = limit
        """Most series of metrics of other programs."""
        self.known: defaultdict[tuple[SeriesKind, str], set[int]] = defaultdict(set)
        """Hashes of the admitted series by kind and the address of their worker; "" for the cluster's own."""
        self.admitted: defaultdict[str, set[int]] = defaultdict(set)
        """The same hashes, of all kinds together: what is asked for each sample."""
        self.counts: Counter[SeriesKind] = Counter()
        """How many series are admitted, by kind."""
        self.refused: set[int] = set()
        """Hashes of the refused series."""
        self.messages: dict[SeriesKind, str] = {}
        """What is refused, for people."""
        self.add(known)

    def add(self, stored: Iterable[Series]) -> None:
        """Admits series that are stored, whatever the limit."""
        for series in stored:
            self._add(kind_of(series), series)

    @property
    def count(self) -> int:
        """How many series are admitted."""
        return self.counts.total()

    def knows_all(self, series: Iterable[Series]) -> bool:
        """Whether all of the series were admitted or refused before."""
        return all(
            hash(one) in self.refused or hash(one) in self.known.get((kind_of(one), one.worker), ())
            for one in series
        )

    def admits(self, series: Series) -> bool:
        """Whether samples of the series are stored."""
        if hash(series) in self.admitted.get(series.worker, ()):
            return True
        kind = kind_of(series)
        known = self.known.get((kind, series.worker), ())
        limit = LIMITS.get(kind, self.limit)
        if (len(known) if kind is SeriesKind.OF_WORKERS else self.counts[kind]) < limit:
            self._add(kind, series)
            return True
        if len(self.refused) < MAXIMUM_REFUSED:
            self.refused.add(hash(series))
        text = f"the limit of {limit} series of {kind.value} is reached: new ones are refused"
        self.messages.setdefault(kind, text)
        return False

    @property
    def size(self) -> int:
        """Bytes of memory, by estimate."""
        return ENTRY * (self.count + len(self.refused)) + WORKER * len(self.known)

    def forget(self, worker: str) -> None:
        """Removes the series of a worker that left."""
        self.admitted.pop(worker, None)
        for kind in SeriesKind:
            self.counts[kind] -= len(self.known.pop((kind, worker), ()))

    def keep_prefixes(self, present: Iterable[Series]) -> None:
        """Removes the scheduler's series by prefix that are not among those of its page."""
        kind = SeriesKind.OF_PREFIXES
        known = self.known[kind, ""]
        gone = known.difference(map(hash, present))
        known -= gone
        self.admitted[""] -= gone
        self.counts[kind] -= len(gone)

    def _add(self, kind: SeriesKind, series: Series) -> None:
        known = self.known[kind, series.worker]
        self.counts[kind] += hash(series) not in known
        known.add(hash(series))
        self.admitted[series.worker].add(hash(series))
