"""The findings of a window as lines of text, as a terminal shows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from observatory.clusters.formatting import format_duration


def lines_of(found: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the API's answer (answer.py)."""
    if not found["findings"]:
        yield f"Nothing stands out. It was searched for: {', '.join(found['looked_for'])}."
    for number, finding in enumerate(found["findings"], 1):
        threads, wall = (format_duration(finding[name]) for name in ("thread_seconds", "wall_seconds"))
        yield f"{number}. {finding['sentence']}"
        yield f"   Costs {threads} of threads, {wall} in all."
        for fact in finding["facts"]:
            yield f"   {fact['label']}: {fact['value']}"
        yield f"   {finding['advice']} {finding['documentation']}"
    if not found["has_agent"]:
        yield "Without the agent, most causes can't be told."
