"""The scope of a request: a cluster, or one window of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from django.http import Http404

from observatory.clusters.models import Cluster
from observatory.replay.pseudonyms import Pseudonyms
from observatory.replay.tiles.levels import TileId
from observatory.store.times import MAXIMUM_TIME


class Section(StrEnum):
    """Data that can contain secrets; a public link shows it only if its author says so."""

    LOGS = "logs"
    CODE = "code"
    TRACEBACKS = "tracebacks"


ALL_SECTIONS = frozenset(Section)


@dataclass(frozen=True, slots=True)
class Scope:
    """A window [start, stop) of a cluster, in microseconds on its scheduler's clock; by default all of it."""

    cluster: Cluster
    start: int = 0
    stop: int = MAXIMUM_TIME
    sections: frozenset[Section] = ALL_SECTIONS
    is_public: bool = False
    """hides everything outside of the window, and the names of the project and of the target"""
    pseudonyms: Pseudonyms | None = None
    """replace addresses, hosts and process ids; None: these are shown"""
    name: str = ""
    """name of the window; empty: the cluster's name"""
    run: int | None = None
    """id of the run that the window is of"""
    opened_as: UUID | None = None
    """the id that the client gave the run; None: no client opened it"""
    tasks: int | None = None
    errors: int | None = None
    """numbers of tasks and errors in a window; None: not counted yet"""
    end_reason: str = ""
    """why its run was no longer recorded, where its end was not seen; else empty"""
    attached_files: int = 0
    """profiles and traces that people attached to the run"""

    @property
    def is_whole(self) -> bool:
        return self.start == 0 and self.stop == MAXIMUM_TIME

    @property
    def window(self) -> tuple[int, int]:
        return self.start, self.stop

    def text(self, text: str) -> str:
        """Return a text as the scope may show it."""
        return text if self.pseudonyms is None else self.pseudonyms.text(text)

    def clip_seconds(self, first: float, last: float) -> tuple[float, float]:
        """Clip a time range (seconds) to the window; last < first if they don't overlap."""
        return max(first, self.start / 1e6), min(last, self.stop / 1e6)

    def has_final_status(self, ended: float | None) -> bool:
        """Return whether the last status of a worker (`ended`: seconds) was reported by the window's stop."""
        return self.stop == MAXIMUM_TIME or (ended is not None and ended <= self.stop / 1e6)

    def contains(self, tile_id: TileId) -> bool:
        """Return whether the tile lies completely in the window."""
        return self.start <= tile_id.start and tile_id.stop <= self.stop

    def clip(self, tile_id: TileId) -> tuple[int, int]:
        """Return the part of the tile in the window (microseconds); start equals stop if there is none."""
        start = max(self.start, tile_id.start)
        return start, max(start, min(self.stop, tile_id.stop))


def require(scope: Scope, section: Section) -> None:
    """Raises Http404 where the section isn't shared."""
    if section not in scope.sections:
        raise Http404("This isn't shared with the link.")
