"""Places of requests that scan archived files: a few at a time, shared by project.

A request that gets none at once is answered later, from its beginning (config/http/handler.py): what waits
has neither a thread nor a connection, so that live pages keep theirs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from observatory.store.places.askers import ASKER
from observatory.store.places.shares import Busy, Shares

PLACES = 3
"""of a process, of which one project has two at most: two threads read row groups (archive/scans)"""
MOST_WAITING = 100
"""requests of one project"""
LONGEST_WAIT = 25.0
"""seconds; proxies give up after more"""
HAS_PLACE: ContextVar[bool] = ContextVar("has a place", default=False)
BEGINS_AGAIN: ContextVar[bool] = ContextVar("begins again", default=False)
"""whether the current request is made again if it gets no place"""
shares = Shares(PLACES, MOST_WAITING, LONGEST_WAIT)


class NoPlace(Exception):
    """So many scans are going on that the request's has to wait, or has waited for too long."""


@contextmanager
def scan_place() -> Iterator[None]:
    """A place for a scan of the block, unless its request has one. Raises NoPlace.

    Where no request is being answered, as in Celery and commands, none is needed.
    """
    asker = ASKER.get()
    if asker is None or HAS_PLACE.get():
        yield
        return
    key = asker.key
    _take(key)
    held = HAS_PLACE.set(True)
    try:
        yield
    finally:
        HAS_PLACE.reset(held)
        shares.leave(key)


async def wait_for_place(key: Hashable) -> None:
    """A place for all scans of a request, which `leave_place` gives back. Raises NoPlace."""
    try:
        await shares.take_later(key)
    except Busy:
        raise NoPlace from None


def waiting_requests() -> int:
    """How many requests of this process wait for a place."""
    return shares.number_waiting


def leave_place(key: Hashable) -> None:
    shares.leave(key)


def _take(key: Hashable) -> None:
    try:
        if not BEGINS_AGAIN.get():
            shares.take(key)
        elif not shares.take_free(key):
            raise NoPlace
    except Busy:
        raise NoPlace from None
