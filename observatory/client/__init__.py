"""An Observatory's records in Python, as pandas DataFrames. Needs pandas, and nothing of ours but wire/.

Without pandas there is `Connection`, which reads the REST API.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from observatory.client.connection import Connection, ObservatoryError

if TYPE_CHECKING:
    from observatory.client.client import ObservatoryClient
    from observatory.client.findings import Findings
    from observatory.client.memory import MemorySamples
    from observatory.client.run import Run
    from observatory.client.shown import Cluster

__all__ = [
    "Cluster",
    "Connection",
    "Findings",
    "MemorySamples",
    "ObservatoryClient",
    "ObservatoryError",
    "Run",
]
_MODULES = {
    "Cluster": "shown",
    "Findings": "findings",
    "MemorySamples": "memory",
    "ObservatoryClient": "client",
    "Run": "run",
}


def __getattr__(name: str) -> Any:
    """Import the classes that need pandas on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_MODULES[name]}")
    except ModuleNotFoundError as error:
        raise ImportError(f"{name} needs {error.name}: pip install 'dask-observatory[client]'") from None
    return getattr(module, name)
