"""Finds out in which of many clusters wanted rows may be: small files are read together, large ones alone."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from observatory.store.archive.catalogue import Piece
from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.place import Place
from observatory.store.archive.scans.conditions import Condition
from observatory.store.archive.scans.matching import count_matching
from observatory.store.archive.scans.readers import Pending, reader_of
from observatory.store.archive.scans.row_groups import may_have_rows, row_groups
from observatory.store.places.askers import require_asker
from observatory.store.reading.scanned_files import SCANNED_FILES, ScannedFiles

MOST_ROWS, MOST_FILES = 131_072, 64
"""of a portion; a larger file is one by itself"""
MOST_ROWS_HERE = 500_000
"""of a cluster that is read here: larger ones are searched by themselves, as a search can stop in between"""
Wanted = Mapping[str, Condition]
"""by kind"""


@dataclass(frozen=True, slots=True)
class Portion:
    """Some files of one cluster or several."""

    place: Place
    pieces: tuple[Piece, ...]
    wanted: Wanted

    def clusters(self) -> set[int]:
        """Those that have a wanted row. Raises ArchiveError."""
        found: set[int] = set()
        for piece in self.pieces:
            if piece.cluster not in found and self._has_rows(piece):
                found.add(piece.cluster)
        return found

    def _has_rows(self, piece: Piece) -> bool:
        condition = self.wanted[piece.kind]
        groups = row_groups(self.place, [piece], condition)
        return any(count_matching(group, condition) for group in groups)


class Candidates:
    """Reads the files of clusters in the order in which they are asked for. Methods raise AskerGone."""

    def __init__(self, place: Place, of_clusters: Mapping[int, Sequence[Piece]], wanted: Wanted) -> None:
        """`of_clusters`: the files of each, in the order in which they are going to be asked for."""
        may_have = {
            cluster: [piece for piece in pieces if may_have_rows(piece, wanted[piece.kind])]
            for cluster, pieces in of_clusters.items()
        }
        self._reader = reader_of(piece for pieces in may_have.values() for piece in pieces)
        if self._reader.is_here:
            may_have = {
                cluster: pieces
                for cluster, pieces in may_have.items()
                if sum(piece.rows for piece in pieces) <= MOST_ROWS_HERE
            }
        self._sizes = {cluster: len(pieces) for cluster, pieces in may_have.items()}
        self._unread = Counter(self._sizes)
        self._portions = _portions(place, may_have, wanted)
        self._begun: deque[tuple[Portion, Pending[set[int]]]] = deque()
        self._found: set[int] = set()
        self._files = SCANNED_FILES.get() or ScannedFiles()
        self._files.of += self._unread.total()

    def may_have_rows(self, cluster: int) -> bool:
        """False: no row of the cluster is wanted. True where its files can't be read: a search says so."""
        if cluster not in self._unread:
            return True
        while self._unread[cluster] and cluster not in self._found:
            self._read_next()
        self._files.read += self._sizes[cluster]
        return cluster in self._found

    def close(self) -> None:
        for _, pending in self._begun:
            pending.cancel()
        self._begun.clear()

    def _read_next(self) -> None:
        require_asker()
        while len(self._begun) <= self._reader.ahead and (portion := next(self._portions, None)):
            self._begun.append((portion, self._reader.submit(portion.clusters, portion.clusters)))
        portion, pending = self._begun.popleft()
        try:
            self._found |= pending.result()
        except ArchiveError:
            self._found |= {piece.cluster for piece in portion.pieces}
        self._unread.subtract(piece.cluster for piece in portion.pieces)


def _portions(place: Place, of_clusters: Mapping[int, Sequence[Piece]], wanted: Wanted) -> Iterator[Portion]:
    taken: list[Piece] = []
    rows = 0
    for piece in (piece for pieces in of_clusters.values() for piece in pieces):
        if taken and (rows + piece.rows > MOST_ROWS or len(taken) == MOST_FILES):
            yield Portion(place, tuple(taken), wanted)
            taken, rows = [], 0
        taken.append(piece)
        rows += piece.rows
    if taken:
        yield Portion(place, tuple(taken), wanted)
