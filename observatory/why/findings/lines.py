"""The findings of a window as lines of text, as a terminal shows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from observatory.clusters.formatting import format_duration

WITHOUT_AGENT = (
    "Without the agent, most causes can't be told, nor which client submitted a task: other clients' tasks "
    "count as well."
)


def lines_of(found: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the API's answer (answer.py)."""
    if not found["findings"]:
        yield f"Nothing stands out. It was searched for: {', '.join(found['looked_for'])}."
    for number, finding in enumerate(found["findings"], 1):
        mark = finding.get("mark")
        threads, wall = (format_duration(finding[name]) for name in ("thread_seconds", "wall_seconds"))
        yield f"{number}. {finding['sentence']}{_marked(mark) if mark else ''}"
        if finding["thread_seconds"] or finding["wall_seconds"]:
            yield f"   Costs {threads} of threads, {wall} in all{_doubt(finding)}."
        if finding["together_seconds"]:
            together = format_duration(finding["together_seconds"])
            yield f"   Only together do findings explain the time: without all of them it is {together} less."
        for fact in finding["facts"]:
            yield f"   {fact['label']}: {fact['value']}"
        yield f"   {finding['advice']} {finding['documentation']}"
    if not found["has_agent"]:
        yield WITHOUT_AGENT


def _marked(mark: dict[str, Any]) -> str:
    return f" (marked as {mark['marked_as']} by {mark['by'] or 'a deleted user'})"


def _doubt(finding: dict[str, Any]) -> str:
    """How a cost is known: simulated, with its interval, or as a sum."""
    if finding["least_wall_seconds"] is None:
        return ", as a sum of times" if finding["wall_seconds"] else ""
    least, most = (format_duration(finding[name]) for name in ("least_wall_seconds", "most_wall_seconds"))
    return f" ({least} to {most})"
