from __future__ import annotations

from tests.support.projects import world

__all__ = ["world"]
