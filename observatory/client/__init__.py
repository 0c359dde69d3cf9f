"""An Observatory's records in Python, as pandas DataFrames. Needs pandas, and nothing of ours but wire/.

Without pandas there is `Connection`, which reads the REST API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from observatory.client.connection import Connection, ObservatoryError

if TYPE_CHECKING:
    from observatory.client.client import ObservatoryClient
    from observatory.client.memory import MemorySamples

__all__ = ["Connection", "MemorySamples", "ObservatoryClient", "ObservatoryError"]


def __getattr__(name: str) -> Any:
    """Import the classes that need pandas on first use."""
    if name not in ("MemorySamples", "ObservatoryClient"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from observatory.client.client import ObservatoryClient
        from observatory.client.memory import MemorySamples
    except ModuleNotFoundError as error:
        raise ImportError(f"{name} needs {error.name}: pip install 'dask-observatory[client]'") from None
    return {"MemorySamples": MemorySamples, "ObservatoryClient": ObservatoryClient}[name]
