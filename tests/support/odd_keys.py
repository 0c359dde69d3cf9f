"""Keys of all types that Dask allows, computed on a real cluster, and how its scheduler names them."""

from __future__ import annotations

from typing import Any

from distributed import Client

KEYS: list[Any] = [
    *range(1000, 1005),
    "1000",
    1,
    *((7, number) for number in range(3)),
    ("deep-0123456789abcdef0123456789abcdef", ("a", 1), 1.5),
    (("x-1", 2), 3),
    ("sum-agg", 0),
    "('sum-of-texts', 0)",
    2.5,
    float("inf"),
    "<img src=x onerror=alert(1)>-1",
    "<module.Task object at 0xdaf372>",
    "a/b c?d=1&e=%20#f-1",
    "żółw-🐢-1",
    "'quoted'",
    '"double"',
    "with\nnewline-1",
    ("with\nnewline-2", 0),
    "ae05086432ca935f6eba409a8ecd4896",
    ("ae05086432ca935f6eba409a8ecd4896", 0),
    "long-" * 600,
]
"""Those of `Client.submit`. Dask's scheduler itself refuses "" and (), newer clients bytes and booleans."""
ERRED = [12, ("fails", 1)]
NEEDS = ("needs-all", 1)
"""depends on KEYS"""


def double(number: int, *others: int) -> int:
    return number * 2


def fail(number: int) -> int:
    raise NotImplementedError("no such thing")


def compute(client: Client) -> dict[Any, tuple[str, str, int, int]]:
    """Computes a task of each key. Returns Dask's own (prefix, group, dependencies, dependents) by key."""
    futures = [client.submit(double, 1, key=key) for key in KEYS]
    futures.append(client.submit(double, 1, *futures, key=NEEDS))
    futures += [client.submit(fail, 1, key=key) for key in ERRED]
    for future in futures:
        future.exception(timeout=300)

    def named(dask_scheduler: Any) -> list[tuple[Any, tuple[str, str, int, int]]]:
        return [
            (
                task.key,
                (
                    str(task.prefix.name),
                    str(task.group.name),
                    len(task.dependencies),
                    len(task.dependents),
                ),
            )
            for task in dask_scheduler.tasks.values()
        ]

    found: dict[Any, tuple[str, str, int, int]] = dict(client.run_on_scheduler(named))
    assert {*found} == {*KEYS, *ERRED, NEEDS}
    return found
