"""Calls that many make at about the same time are made once for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Round(Generic[Item, Result]):
    """A call, and the items that it is made for."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.call: asyncio.Task[Sequence[Result | Exception]]


class CoalescedCalls(Generic[Item, Result]):
    """One call at a time: what is given while one is on its way shares the next. For one event loop.

    A call goes on when those who wait for it are cancelled.
    """

    def __init__(
        self,
        call: Callable[[list[Item]], Awaitable[Sequence[Result | Exception]]],
        linger: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`call` returns the result of each item. `linger`: seconds that the first item waits for others."""
        self._call = call
        self._linger = linger
        self._next: _Round[Item, Result] | None = None
        """The round that is not called yet."""
        self._called: asyncio.Task[Sequence[Result | Exception]] | None = None
        """The last call."""

    async def __call__(self, item: Item) -> Result:
        """The item's result. Raises what the call raises, and the result if it is an exception."""
        if self._next is None:
            self._next = _Round()
            self._next.call = asyncio.create_task(self._run(self._next))
        round, place = self._next, len(self._next.items)
        round.items.append(item)
        result = (await asyncio.shield(round.call))[place]
        if isinstance(result, Exception):
            raise result
        return result

    async def wait(self) -> None:
        """Waits for what was given until now."""
        for call in (self._called, self._next.call if self._next is not None else None):
            if call is not None:
                await asyncio.wait([call])

    async def _run(self, round: _Round[Item, Result]) -> Sequence[Result | Exception]:
        if self._called is not None:
            await asyncio.wait([self._called])
        await asyncio.sleep(self._linger())
        self._next, self._called = None, round.call
        return await self._call(round.items)
