"""What the writers of a process remember of clusters: of all together at most so many bytes."""

from __future__ import annotations

import threading
from operator import attrgetter

from cachetools import LRUCache

from observatory.store.ingest.known_cluster import KnownCluster

MOST_BYTES = 128 << 20
"""by estimate; a thousand workers with a hundred series each take 90 MB"""


class KnownClusters:
    """A cluster belongs to one writer from `take` to `keep`; meanwhile others read it from the store.

    The clusters that were not written for longest are forgotten first. Thread-safe.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._clusters: LRUCache[int, KnownCluster] = LRUCache(most_bytes, getsizeof=attrgetter("size"))
        self._lock = threading.Lock()

    def allow(self, most_bytes: int) -> None:
        """Sets another limit. To be called before anything is remembered."""
        with self._lock:
            self._clusters = LRUCache(most_bytes, getsizeof=attrgetter("size"))

    @property
    def most_bytes(self) -> int:
        return int(self._clusters.maxsize)

    @property
    def size(self) -> int:
        """Bytes, by estimate."""
        return int(self._clusters.currsize)

    def take(self, cluster: int) -> KnownCluster | None:
        with self._lock:
            return self._clusters.pop(cluster, None)

    def keep(self, known: KnownCluster) -> None:
        """One that alone takes more than all may is forgotten."""
        with self._lock:
            if known.size <= self._clusters.maxsize:
                self._clusters[known.id] = known


KNOWN_CLUSTERS = KnownClusters()
"""of this process"""
