"""Dask Observatory. `observatory.run` opens a run from code (docs/agent.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from observatory.agent.runs import run

__version__ = "0.1.0"
__all__ = ["__version__", "run"]


def __getattr__(name: str) -> Any:
    """Import `run` on first use: most of the package does not need `distributed`."""
    if name == "run":
        from observatory.agent.runs import OpenRun, run
        from observatory.client.opened_runs import bundle

        OpenRun.show = bundle
        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
