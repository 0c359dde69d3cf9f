"""How much of a web process relayed pages may use, in all and of one person."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from weakref import WeakValueDictionary

REQUESTS, REQUESTS_OF_USER = 24, 6
"""at a time; each can hold an answer of worker_client.ANSWER_LIMIT. More wait"""
WAITING_OF_USER = 50
"""requests that wait, or are answered; more are refused"""
SOCKETS, SOCKETS_OF_USER = 100, 10
BYTES_PER_SECOND, MESSAGES_PER_SECOND = 8 * 2**20, 500
"""of one socket, in each direction; more wait"""


class TooMany(Exception):
    """The message is shown to people."""


class Limits:
    """Of one web process."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(REQUESTS)
        self._slots_of: WeakValueDictionary[int, asyncio.Semaphore] = WeakValueDictionary()
        self._requests: Counter[int] = Counter()
        self._sockets: Counter[int] = Counter()

    @asynccontextmanager
    async def request(self, user: int) -> AsyncIterator[None]:
        """Waits until there is room for a request. Raises TooMany."""
        if self._requests[user] >= WAITING_OF_USER:
            raise TooMany("You request too many worker pages at a time.")
        own = self._slots_of.setdefault(user, asyncio.Semaphore(REQUESTS_OF_USER))
        with _counted(self._requests, user):
            async with own, self._slots:
                yield

    @contextmanager
    def socket(self, user: int) -> Iterator[None]:
        """Room for a socket. Raises TooMany."""
        if self._sockets[user] >= SOCKETS_OF_USER:
            raise TooMany(f"You have {SOCKETS_OF_USER} worker pages open: close one.")
        if self._sockets.total() >= SOCKETS:
            raise TooMany(f"{SOCKETS} worker pages are open in this process.")
        with _counted(self._sockets, user):
            yield


@contextmanager
def _counted(counter: Counter[int], user: int) -> Iterator[None]:
    counter[user] += 1
    try:
        yield
    finally:
        counter[user] -= 1
        if not counter[user]:
            del counter[user]


async def pace(size: int) -> None:
    """Waits after a message of `size` bytes, so that a socket keeps within its rates."""
    await asyncio.sleep(max(size / BYTES_PER_SECOND, 1 / MESSAGES_PER_SECOND))
