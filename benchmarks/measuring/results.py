"""The one JSON line that each benchmark prints."""

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
    """One thing that was measured."""

    what: str
    against: str
    """the peer, or what the limit is a part of"""
    measured: float
    limit: float | None = None
    """None: for information"""
    at_least: bool = False
    """the limit is the least, not the most, that reaches it"""

    @property
    def is_reached(self) -> bool:
        if self.limit is None:
            return True
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


def tell(benchmark: str, results: Iterable[Result], libraries: Iterable[str], **details: Any) -> int:
    """Prints the line; returns the exit code: 1 where a limit was missed."""
    found = list(results)
    line = {
        "benchmark": benchmark,
        "reached": all(result.is_reached for result in found),
        "results": [{**asdict(result), "reached": result.is_reached} for result in found],
        **details,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": machine(),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in libraries}},
    }
    print(json.dumps(line))
    return 0 if line["reached"] else 1


def machine() -> dict[str, Any]:
    return {"cpus": os.cpu_count(), "platform": platform.platform(), "load": list(os.getloadavg())}
