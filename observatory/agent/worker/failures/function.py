"""What a task calls, as Dask describes it to its worker. Older versions of Dask don't: it is unknown then."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from dask.utils import funcname

MOST_FUSED = 100
"""tasks within each other that are looked into"""


def function_name(task: Any) -> str:
    """The name of the function that a task calls, as Dask names it; "" if unknown."""
    function = getattr(_outermost(task), "func", None)
    while isinstance(function, functools.partial):
        function = function.func
    if function is None:
        return ""
    if isinstance(getattr(function, "__name__", None), str):
        return str(funcname(function))
    return type(function).__name__[:50]  # funcname would call the object's own __str__


def calls(task: Any) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """The positional and the named arguments."""
    outermost = _outermost(task)
    return getattr(outermost, "args", ()), getattr(outermost, "kwargs", {})


def _outermost(task: Any) -> Any:
    """The task; of tasks that were fused into one, the one whose result is theirs."""
    for _ in range(MOST_FUSED):
        if getattr(getattr(task, "func", None), "__name__", "") != "_execute_subgraph":
            break
        graph, key, *_ = task.args
        task = graph[key]
    return task
