"""The JSON line that each benchmark prints."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any


@dataclass(frozen=True, slots=True)
class Result:
    """One measurement."""

    what: str
    against: str
    """the peer, or what the limit refers to"""
    measured: float
    limit: float | None = None
    """None: for information only"""
    at_least: bool = False
    """the limit is a minimum, not a maximum"""

    @property
    def is_reached(self) -> bool:
        if self.limit is None:
            return True
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


def print_results(benchmark: str, results: Iterable[Result], libraries: Iterable[str], **details: Any) -> int:
    """Print the JSON line; returns the exit code, 1 if a limit was missed."""
    measured = list(results)
    line = {
        "benchmark": benchmark,
        "reached": all(result.is_reached for result in measured),
        "results": [{**asdict(result), "reached": result.is_reached} for result in measured],
        **details,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": machine(),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in libraries}},
    }
    print(json.dumps(line))
    return 0 if line["reached"] else 1


def machine() -> dict[str, Any]:
    """Describe this machine and its load."""
    return {"cpus": os.cpu_count(), "platform": platform.platform(), "load": list(os.getloadavg())}
