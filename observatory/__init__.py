"""Dask Observatory. `observatory.run` opens a run from code (docs/agent.md); `%load_ext observatory` adds
`%%observe` to notebooks (docs/notebook.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from observatory.agent.runs import run

__version__ = "0.1.0"
__all__ = ["__version__", "run"]


def __getattr__(name: str) -> Any:
    """Import `run` on first use: most of the package does not need `distributed`."""
    if name == "run":
        from observatory.agent.recorded_runs import RecordedRun
        from observatory.agent.runs import OpenRun, run
        from observatory.client.opened_runs import bundle
        from observatory.client.recording import Recording

        OpenRun.show, RecordedRun.recording = bundle, Recording
        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """IPython calls it for `%load_ext observatory`. Raises ImportError where a library is missing."""
    try:
        from observatory.client.cells.extension import load
    except ModuleNotFoundError as error:
        raise ImportError(
            f"%load_ext observatory needs {error.name}: pip install 'dask-observatory[notebook]'"
        ) from None
    load(shell, __getattr__("run"))


def unload_ipython_extension(shell: Any) -> None:
    from observatory.client.cells.extension import unload

    unload(shell)
