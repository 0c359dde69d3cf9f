"""The shares of its memory limit at which a worker spills results, pauses and is terminated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

DEFAULTS = {"target": 0.6, "spill": 0.7, "pause": 0.8, "terminate": 0.95}
"""Dask's, of distributed.worker.memory"""


def thresholds_of(detail: Any) -> dict[str, float] | None:
    """Return the thresholds by name, of a worker's JSON object `detail`; 0: Dask doesn't do it.

    None: no agent has told the worker's configuration.
    """
    configuration = detail.get("configuration") if isinstance(detail, Mapping) else None
    if not isinstance(configuration, Mapping):
        return None
    found = {name: _share(configuration.get(f"distributed.worker.memory.{name}")) for name in DEFAULTS}
    known = {name: share for name, share in found.items() if share is not None}
    return known if len(known) == len(DEFAULTS) else None


def _share(value: Any) -> float | None:
    """False switches a threshold off. None: it isn't a share."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0 if value is False else None
    return float(value) if math.isfinite(value) and 0 <= value <= 1 else None
