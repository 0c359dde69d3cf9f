"""What the tasks of observed_cluster.py do; its workers import this, and nothing of Django with it."""

from __future__ import annotations

import logging
import time

from distributed import Client, wait

HOSTILE = "</script><img src=x onerror=alert(1)>"
FORMULA = "=1+1"


def sum_slowly(seconds: float) -> int:
    deadline = time.monotonic() + seconds
    total = 0
    while time.monotonic() < deadline:
        total += sum(range(1000))
    return total


def make(size: int) -> bytes:
    return b"x" * size


def fail(number: int) -> None:
    logging.getLogger("distributed.worker").warning("about to fail, %d", number)
    raise ValueError(f"no {number}")


def work(client: Client) -> None:
    first, second = sorted(client.scheduler_info()["workers"])
    made = client.submit(make, 5_000_000, key="make-1", workers=[first])
    held = [
        client.submit(len, made, key=f"len-{HOSTILE}", workers=[second]),
        client.submit(sum_slowly, 0.1, key=FORMULA),
        *client.map(sum_slowly, [0.2] * 20, pure=False),
        *client.map(fail, range(3), pure=False),
    ]
    wait(held)
    held = client.map(sum_slowly, [1.2] * 4, pure=False)
    wait(held)
    time.sleep(1.5)
