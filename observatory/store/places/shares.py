"""Shares places among projects: none takes all of them, and they take turns."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from cachetools import LRUCache

Grant = Callable[[], object]
RECENT = 20.0
"""seconds"""
REMEMBERED = 1_000
HEAVY, LIGHTER = 0.5, 1.5
"""places that one had lately, on average, from which on it has one at a time beside others, and rests for
those that had less than a LIGHTERth of its own"""
LOOK = 0.1
"""seconds after which threads that wait look for the end of their rest"""
REST, LONGEST_REST = 3.0, 5.0
"""how long one rests: so many times as long as it was served, up to so many seconds"""


class Busy(Exception):
    """The project's share is in use, and has been for a while, or too many of its requests wait for it."""


class Use:
    """Who is served now, and how many places each had lately, on average. Thread-safe."""

    def __init__(self) -> None:
        self._served: Counter[Hashable] = Counter()
        self._average: LRUCache[Hashable, tuple[float, float]] = LRUCache(REMEMBERED)
        """and until when it was counted"""
        self._lock = threading.Lock()

    def change(self, key: Hashable, places: int) -> None:
        """One has so many more places."""
        with self._lock:
            self._count(key)
            self._served[key] += places
            if not self._served[key]:
                del self._served[key]

    def average(self, key: Hashable) -> float:
        with self._lock:
            return self._count(key)

    def yields(self, key: Hashable) -> bool:
        """Whether one that had much is beside one that had less, and is served now."""
        with self._lock:
            own = self._count(key)
            others = (self._count(other) for other in tuple(self._served) if other != key)
            return own > HEAVY and any(LIGHTER * average < own for average in others)

    def _count(self, key: Hashable) -> float:
        now = time.monotonic()
        average, until = self._average.get(key, (0.0, now))
        weight = math.exp((until - now) / RECENT)
        average = average * weight + self._served[key] * (1 - weight)
        self._average[key] = average, now
        return average


class Places:
    """So many places, of which one has at most half. The last free one is for one that has none.

    Who had more than HEAVY for a while has one at a time, as long as others ask. Those that wait take turns;
    the requests of one are served in order. With a `load`, which several share, who had much of it rests
    after each request, while one is served that had less.
    """

    def __init__(self, places: int, waiting: int, alone: float = math.inf, load: Use | None = None) -> None:
        """`waiting`: most requests of one that wait; `alone`: one may take all places but the last if no
        other had one for so many seconds."""
        self.most = math.ceil(places / 2)
        self.waiting = waiting
        self.alone = alone
        self.load = load
        self._places = self._free = places
        self._taken: Counter[Hashable] = Counter()
        self._queues: dict[Hashable, deque[Grant]] = {}
        """by who waits; whose turn is next is first"""
        self._last: OrderedDict[Hashable, float] = OrderedDict()
        """when each asked last, the newest last"""
        self._use = Use()
        self._since: dict[Hashable, deque[float]] = {}
        """when the requests that are served began, by whose they are"""
        self._rests: LRUCache[Hashable, float] = LRUCache(REMEMBERED)
        """until when each rests beside those that had less"""

    def ask(self, key: Hashable, grant: Grant) -> None:
        """`grant` is called when the place is given, at once if there is one. Raises Busy."""
        self._note(key)
        queue = self._queues.setdefault(key, deque())
        if len(queue) >= self.waiting:
            raise Busy
        queue.append(grant)
        self.give()

    def withdraw(self, key: Hashable, grant: Grant) -> None:
        """The request waits no more."""
        self._queues[key].remove(grant)
        if not self._queues[key]:
            del self._queues[key]

    def leave(self, key: Hashable) -> None:
        """A place is free again."""
        self._free += 1
        self._change(key, -1)
        self.give()

    @property
    def number_waiting(self) -> int:
        return sum(map(len, self._queues.values()))

    def may_take(self, key: Hashable) -> bool:
        """Whether a request would not have to wait."""
        taken = self._taken[key]
        return self._free > (1 if taken else 0) and taken < self._share(key) and not self.rest(key)

    def rest(self, key: Hashable) -> float:
        """For how long (seconds) the requests of one wait at most for those that had less."""
        if self.load is None or (until := self._rests.get(key)) is None:
            return 0.0
        left = until - time.monotonic()
        return left if left > 0 and self.load.yields(key) else 0.0

    def shortest_rest(self) -> float:
        """Seconds until one that waits has rested; 0: nobody rests."""
        return min(filter(None, map(self.rest, self._queues)), default=0.0)

    def give(self) -> None:
        """Gives free places to those whose turn it is."""
        while (key := next(filter(self.may_take, self._queues), None)) is not None:
            grant = self._queues[key][0]
            self.withdraw(key, grant)
            if key in self._queues:
                self._queues[key] = self._queues.pop(key)  # the others are next
            self._free -= 1
            self._change(key, 1)
            grant()

    def _change(self, key: Hashable, places: int) -> None:
        """One has one place more or less."""
        self._taken[key] += places
        if not self._taken[key]:
            del self._taken[key]
        self._use.change(key, places)
        if self.load is None:
            return
        self.load.change(key, places)
        now, since = time.monotonic(), self._since.setdefault(key, deque())
        if places > 0:
            since.append(now)
        else:
            self._rests[key] = now + min(LONGEST_REST, REST * (now - since.popleft()))
            if not since:
                del self._since[key]

    def _share(self, key: Hashable) -> int:
        asked = next((at for other, at in reversed(self._last.items()) if other != key), -math.inf)
        age = time.monotonic() - asked
        if age < RECENT and self._use.average(key) > HEAVY:
            return 1
        return self.most if age <= self.alone else self._places

    def _note(self, key: Hashable) -> None:
        self._last[key] = time.monotonic()
        self._last.move_to_end(key)
        if len(self._last) > 2:  # more are never looked at
            self._last.popitem(last=False)


class Shares:
    """Places of threads. Thread-safe."""

    def __init__(self, places: int, waiting: int, timeout: float, load: Use | None = None) -> None:
        """`waiting`: most requests of one that wait; `timeout`: how long one waits (seconds)."""
        self.places = Places(places, waiting, load=load)
        self.timeout = timeout
        self._lock = threading.Lock()

    @contextmanager
    def place(self, key: Hashable) -> Iterator[None]:
        """Waits for a place and holds it until the block ends. Raises Busy."""
        self.take(key)
        try:
            yield
        finally:
            self.leave(key)

    def is_free(self, key: Hashable) -> bool:
        """Whether a request would not have to wait."""
        with self._lock:
            return self.places.may_take(key)

    @property
    def number_waiting(self) -> int:
        with self._lock:
            return self.places.number_waiting

    def take(self, key: Hashable) -> None:
        """Waits for a place, which `leave` gives back. Raises Busy."""
        granted = threading.Event()
        grant = granted.set
        until = time.monotonic() + self.timeout
        with self._lock:
            self.places.ask(key, grant)
        look = math.inf if self.places.load is None else LOOK
        while not granted.wait(min(look, max(0.0, until - time.monotonic()))):
            with self._lock:
                if not granted.is_set() and time.monotonic() < until:
                    self.places.give()
                elif not granted.is_set():
                    self.places.withdraw(key, grant)
                    raise Busy

    def take_free(self, key: Hashable) -> bool:
        """Takes a place if there is one now."""
        with self._lock:
            if not self.places.may_take(key):
                return False
            self.places.ask(key, _nobody_waits)
            return True

    async def take_later(self, key: Hashable) -> None:
        """As `take`, without a thread. Raises Busy."""
        loop, noticed = asyncio.get_running_loop(), asyncio.Event()
        granted = threading.Event()

        def grant() -> None:
            granted.set()
            loop.call_soon_threadsafe(noticed.set)

        with self._lock:
            self.places.ask(key, grant)
        is_load_shared = self.places.load is not None and not granted.is_set()
        looks = asyncio.create_task(self._look()) if is_load_shared else None
        try:
            async with asyncio.timeout(self.timeout):
                await noticed.wait()
        except BaseException as error:
            with self._lock:
                if not granted.is_set():
                    self.places.withdraw(key, grant)
                elif isinstance(error, TimeoutError):
                    return
                else:
                    self.places.leave(key)
            if isinstance(error, TimeoutError):
                raise Busy from None
            raise
        finally:
            if looks is not None:
                looks.cancel()

    async def _look(self) -> None:
        """Gives places to those that have rested, until it is cancelled."""
        while True:
            await asyncio.sleep(LOOK)
            with self._lock:
                self.places.give()

    def leave(self, key: Hashable) -> None:
        with self._lock:
            self.places.leave(key)


def _nobody_waits() -> None:
    """Is called when a free place is taken."""


class RequestShares:
    """Places of requests of one event loop: those that wait have no thread."""

    def __init__(
        self, places: int, waiting: int, timeout: float, alone: float, load: Use | None = None
    ) -> None:
        self.places = Places(places, waiting, alone, load)
        self.timeout = timeout

    async def take(self, key: Hashable) -> None:
        """Waits for a place, which `leave` gives back. Raises Busy."""
        granted = asyncio.Event()
        grant = granted.set
        self.places.ask(key, grant)
        self._give_after_rests()
        try:
            async with asyncio.timeout(self.timeout):
                await granted.wait()
        except BaseException as error:
            if granted.is_set():
                self.places.leave(key)
            else:
                self.places.withdraw(key, grant)
            if isinstance(error, TimeoutError):
                raise Busy from None
            raise

    def leave(self, key: Hashable) -> None:
        self.places.leave(key)
        self._give_after_rests()

    def _give_after_rests(self) -> None:
        if rest := self.places.shortest_rest():
            asyncio.get_running_loop().call_later(rest, self.places.give)


LOAD = Use()
"""of the requests and batches of this process"""
