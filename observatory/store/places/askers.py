"""Whose request is being answered: places are shared by project, and requests wait for those of theirs."""

from __future__ import annotations

from collections.abc import Hashable
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Asker:
    who: str
    """a digest of the token or session, or a link or address"""
    project: int | None = None
    """what was asked about, as far as it is known"""
    is_gone: bool = False
    """nobody waits for the answer any more"""

    @property
    def key(self) -> Hashable:
        """What places are shared by."""
        return self.who if self.project is None else self.project


class AskerGone(Exception):
    """Nobody waits for what a long search finds: it stops."""


ASKER: ContextVar[Asker | None] = ContextVar("asker", default=None)
"""None: no request is being answered"""
PATIENCE: ContextVar[float | None] = ContextVar("patience", default=None)
"""seconds that the current request waits for archived rows before it says how far they are; None: as long as
it takes"""


def asks_about(project: int) -> None:
    """The current request is about a project that its person may see."""
    if (asker := ASKER.get()) is not None:
        asker.project = project


def require_asker() -> None:
    """Raises AskerGone. Where no request is being answered, somebody always waits."""
    if (asker := ASKER.get()) is not None and asker.is_gone:
        raise AskerGone
