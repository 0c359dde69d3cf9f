"""What the tasks of `forum_questions` do, and the server that some ask. Workers import this, and no
collection of Dask.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.unprepared.tasks import fit

FORMATTING = 0.06
"""seconds for each number of a table"""
ENGINE: list[str] = []
"""the engine of this process, once it has started"""
STARTING = threading.Lock()


@contextlib.contextmanager
def tile_server(tiles_a_second: float | None) -> Iterator[str]:
    """Yields its address; it sends who asks too often away, with 429."""
    lock, free = threading.Lock(), [0.0]

    class Tiles(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with lock:
                now = time.monotonic()
                is_free = tiles_a_second is None or now >= free[0]
                if is_free and tiles_a_second is not None:
                    free[0] = now + 1 / tiles_a_second
            self.send_response(200 if is_free else 429)
            self.end_headers()
            self.wfile.write(b"tile")

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Tiles)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def depths(tile: np.ndarray, url: str, block_id: tuple[int, ...] = (0,)) -> np.ndarray:
    """Asks for a tile until it gets it, as the libraries do that try again by themselves."""
    while True:
        with contextlib.suppress(urllib.error.HTTPError):
            urllib.request.urlopen(f"{url}/{block_id[0]}", timeout=30).read()
            return tile
        time.sleep(0.1)


def currents(depths: np.ndarray, seconds_a_cell: float) -> np.ndarray:
    fit(len(depths) * seconds_a_cell)
    return depths / 2


def part(number: int, seconds: float) -> int:
    fit(seconds)
    return number


class Shard:
    """An actor with a part of the users."""

    def __init__(self) -> None:
        self.visits: dict[int, int] = {}

    def add(self, user: int, seconds: float) -> int:
        fit(seconds)
        self.visits[user] = self.visits.get(user, 0) + 1
        return self.visits[user]


def visit(number: int, user: int, seconds: float, shards: list[Any]) -> int:
    """Reads a visit, and tells the shard that has its user."""
    fit(seconds)
    return int(shards[user % len(shards)].add(user, 0.25).result())


def month(number: int, seconds: float) -> pd.DataFrame:
    fit(seconds)
    return pd.DataFrame({"station": np.arange(8) + number, "value": np.linspace(0, 1, 8), "age": 1.0})


def with_slow_numbers(value: float) -> str:
    """How a table wants its numbers to be written."""
    fit(FORMATTING)
    return f"{value:.3f}"


async def recognise(number: int, seconds: float, is_blocking: bool) -> int:
    """Calls a library that isn't asynchronous, from a coroutine."""
    if is_blocking:
        fit(seconds)
    else:
        await asyncio.to_thread(fit, seconds)
    return number


def solved(numbers: Iterable[int], starting: float, seconds: float) -> list[int]:
    """With an engine, which is started where there is none yet."""
    with STARTING:
        if not ENGINE:
            fit(starting)
            ENGINE.append("started")
    fit(seconds)
    return list(numbers)


def place(numbers: pd.Series, seconds: float) -> pd.Series:
    """Looks the names of places up in a table that the worker has."""
    fit(seconds)
    return numbers.map(str)


def worked_on(part: pd.DataFrame, seconds: float) -> pd.DataFrame:
    fit(seconds)
    return part


def squared(rows: np.ndarray, seconds: float) -> np.ndarray:
    fit(seconds)
    return rows**2


def trained(number: int, seconds: float) -> float:
    """Returns how good it is."""
    fit(seconds)
    return (number * 7 % 32) / 32


def stored(number: int, seconds: float, leases: Any) -> int:
    """Computes most of the time, and stores what it has with a lease, of which there are enough."""
    fit(seconds)
    with leases:
        fit(0.05)
    return number
