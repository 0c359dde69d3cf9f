"""The code in which samples of a profile saw tasks or event loops."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from observatory.runs.errors.places import LIBRARY

MOST_PLACES = 3
IDLE = frozenset({"select", "poll", "epoll", "_run_once", "run_forever"})
"""functions of an event loop that waits"""
CALLS_TASKS = re.compile(
    r"^__call__\t.*dask[/\\]_task_spec\.py|^apply_function(_simple)?\t.*distributed[/\\]worker\.py"
)
"""Dask's own, which call the functions of tasks: innermost where a function is not written in Python"""
Frame = tuple[str, str, str]
"""function, file, line"""


def places(stacks: Sequence[tuple[str, int]], text: Callable[[str], str]) -> list[str]:
    """Return the innermost frames of stacks; of a library's, with the user's own code that called it.

    `stacks`: frames, outermost first, and how often they were seen. `text`: what may be shown of a text.
    """
    found = []
    for frames, _ in stacks:
        called = [_frame(frame.split("\t")) for frame in frames.split("\n")]
        if called[-1][0] in IDLE or CALLS_TASKS.search("\t".join(called[-1])):
            continue
        own = next((frame for frame in reversed(called) if not LIBRARY.search(frame[1])), called[-1])
        place = text(_place(called[-1]))
        found.append(place if own == called[-1] else f"{place}, called by {text(_place(own))}")
    return list(dict.fromkeys(found))[:MOST_PLACES]


def _frame(parts: list[str]) -> Frame:
    name, file, line = (*parts, "", "")[:3]
    return name, file, line


def _place(frame: Frame) -> str:
    name, file, line = frame
    return f"{name} ({file}:{line})"
