"""Names P2P shuffles by what they do: the collection, the columns, and the code that submitted them.

Dask names them by tokens. The scheduler has their tasks, whose arguments have the columns.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import islice
from typing import Any

OPERATIONS = {"shuffle-transfer": "shuffle", "hash-join-transfer": "merge", "rechunk-transfer": "rechunk"}
"""by the prefix of the tasks that send"""
COLUMNS_AT = {
    "AssignPartitioningIndex.operation": 1,
    "assign_index_merge_transfer": 1,
}
"""by the end of a function's name: the argument with the columns; the one nearest to the shuffle counts"""
SORTING = "set_partitions_pre"
"""of set_index: the function that finds the partition of a row"""
INTERNAL = ("_partitions", "__hash_partition", "_partitions_0")
"""columns that Dask adds"""
STEPS = frozenset(
    {"operation", "to_string_dtype", "_to_string_dtype", "getitem", "assign", "getattr", "set_partitions_pre"}
)
"""prefixes of tasks between a collection and its shuffle that say nothing of it"""
MOST_TASKS, MOST_LEVELS, LONGEST = 60, 8, 200


def name_of(tasks: Any, barrier: str, spec: Any) -> str:
    """“merge of timeseries by name”, as far as it is known; otherwise ''. `tasks`: Scheduler.tasks."""
    with contextlib.suppress(Exception):  # these are internals of Dask, which differ between its versions
        before = list(_before(tasks[barrier]))
        operation = next((OPERATIONS[name] for name, _ in before if name in OPERATIONS), "shuffle")
        collection = next((name for name, _ in before if not _is_step(name)), "")
        parts = [operation, f"of {collection}" if collection else "", _by(spec, before)]
        return " ".join(filter(None, parts))[:LONGEST]
    return ""


def code_of(computations: Any, group: Any) -> str:
    """The line that submitted a group, with its file, as far as Dask recorded it."""
    with contextlib.suppress(Exception):
        for computation in reversed(computations):
            if group in computation.groups and computation.code:
                frame = next(iter(computation.code))[-1]
                lines = frame.code.splitlines()
                place = f"{frame.filename}:{frame.lineno_frame}"
                return f"{place}: {lines[frame.lineno_relative].strip()}"[: 2 * LONGEST]
    return ""


def _before(barrier: Any) -> Iterator[tuple[str, Any]]:
    """Yield the prefixes and specifications of tasks before a barrier, the nearest first."""
    level, seen = [barrier], 0
    for _ in range(MOST_LEVELS):
        # the tasks that send are alike, as are those before each
        level = [needed for task in level[:4] for needed in islice(task.dependencies, 4)]
        for task in level:
            seen += 1
            if seen > MOST_TASKS:
                return
            yield task.prefix.name, task.run_spec


def _is_step(prefix: str) -> bool:
    parts = prefix.split("-")  # of tasks that Dask made one
    return prefix in OPERATIONS or parts[0] == "rechunk" or STEPS.issuperset(parts)


def _by(spec: Any, before: list[tuple[str, Any]]) -> str:
    """The columns of a shuffle or the chunks of a rechunk, in words."""
    if hasattr(spec, "new"):
        chunks = " × ".join(f"{max(sizes):,}" for sizes in spec.new)
        return f"into chunks of {chunks}"
    column = getattr(spec, "column", "")
    if column and column not in INTERNAL:
        return f"by {column}"
    calls = [call for _, task in before for call in _calls(task)]
    for place, (function, arguments) in enumerate(calls):
        at = next((at for name, at in COLUMNS_AT.items() if function.endswith(name)), None)
        if at is not None:
            return f"by {_columns(arguments[at])}" if len(arguments) > at else ""
        if function.endswith(SORTING):  # of a column that a task before it took
            taken = (_columns(arguments[1]) for function, arguments in calls[place:] if function == "getitem")
            return f"by {column}" if (column := next(taken, "")) else ""
    return ""


def _calls(task: Any) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the functions of a task and their arguments; a fused one has several, the last first."""
    arguments = tuple(getattr(task, "args", ()))
    for argument in arguments:
        if isinstance(argument, dict):
            for inner in reversed(list(argument.values())[:MOST_TASKS]):
                yield from _calls(inner)
    yield str(getattr(getattr(task, "func", None), "__qualname__", "")), arguments


def _columns(argument: Any) -> str:
    if isinstance(argument, str):
        return argument
    if isinstance(argument, (list, tuple)) and all(isinstance(one, (str, int)) for one in argument):
        return ", ".join(map(str, argument)) or "its index"
    return ""
