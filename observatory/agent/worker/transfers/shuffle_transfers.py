"""Records what P2P shuffles send from a worker to others, as rows of kind `transfer`.

Dask's logs of transfers don't have it. The messages of about a second to one worker are one row.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from time import time
from typing import Any

from observatory.agent.wrapping import Wrapping

SHUFFLED = 2
"""the direction of such a row, whose worker is the receiver"""
LONGEST = 100
"""most characters of a shuffle's id"""

Send = Callable[..., Awaitable[Any]]


@dataclass
class Sent:
    start: float
    stop: float
    nbytes: int = 0
    messages: int = 0


class ShuffleTransfers:
    """Counts the messages of this worker's shuffles; other workers in its process count their own."""

    def __init__(self, worker: Any) -> None:
        self.worker = worker
        self._sent: dict[tuple[str, str], Sent] = {}
        self._is_open = True
        self._wrapping: Wrapping | None = None
        with contextlib.suppress(ImportError, AttributeError):
            from distributed.shuffle._core import ShuffleRun

            self._wrapping = Wrapping(ShuffleRun, "send", self._counting)

    def close(self) -> None:
        self._is_open = False
        if self._wrapping is not None:
            self._wrapping.unwrap()

    def rows(self, delay: float) -> Iterator[tuple[Any, ...]]:
        """Since the last call. `delay`: seconds to the scheduler's clock."""
        sent, self._sent = self._sent, {}
        for (shuffle, receiver), one in sent.items():
            keys = json.dumps({shuffle: one.nbytes})
            times = one.start + delay, one.stop + delay
            yield (
                *times,
                receiver,
                self.worker.address,
                SHUFFLED,
                float(one.nbytes),
                0.0,
                keys,
                one.messages,
            )

    def _counting(self, send: Send) -> Send:
        @functools.wraps(send)
        async def counted(run: Any, address: str, shards: Any, *args: Any, **kwargs: Any) -> Any:
            start = time()
            answer = await send(run, address, shards, *args, **kwargs)
            with contextlib.suppress(Exception):  # never disturb the shuffle
                if self._is_open and run.local_address == self.worker.address != address:
                    self._count(str(run.id)[:LONGEST], address, size_of(shards), start)
            return answer

        return counted

    def _count(self, shuffle: str, receiver: str, nbytes: int, start: float) -> None:
        now = time()
        one = self._sent.setdefault((shuffle, receiver), Sent(start, now))
        one.start, one.stop = min(one.start, start), now
        one.nbytes += nbytes
        one.messages += 1


def size_of(shards: Any) -> int:
    """The bytes of the data in lists and tuples of shards, without those of Python's objects around it."""
    if isinstance(shards, (list, tuple)):
        return sum(map(size_of, shards))
    if isinstance(shards, (bytes, bytearray)):
        return len(shards)
    nbytes = getattr(shards, "nbytes", 0)
    return nbytes if isinstance(nbytes, int) else 0
