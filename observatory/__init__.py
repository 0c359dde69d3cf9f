"""Dask Observatory. `observatory.run` opens a run from code: docs/agent.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from observatory.agent.runs import run

__all__ = ["run"]


def __getattr__(name: str) -> Any:
    """`run` when it is asked for: the rest of the package does without `distributed`."""
    if name == "run":
        from observatory.agent.runs import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
