"""Has workers of the Dask cluster that OBSERVATORY_SCAN_SCHEDULER names read files of long scans.

They call the functions that threads here call, on the same files, so that answers are the same. What they
can't read is read here, and so are the scans of the next minute.
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Any, Generic, TypeVar

import pyarrow as pa
from distributed import Client, get_worker
from distributed import Future as DaskFuture
from django.conf import settings

import observatory
from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.place import Place
from observatory.store.archive.scans.readers import Threads

MOST_AHEAD = 64
"""parts of a scan that are at workers: two for each of their threads, up to so many"""
ANSWERS_WITHIN = 5.0
"""seconds that the scheduler may take"""
LONGEST = 30.0
"""seconds that a part may take"""
MOST_LOOKED_AT = 100
"""workers that are tested"""
PAUSE = 60.0
"""seconds for which scans run here after a cluster failed"""
NAME = "observatory-scan"
"""of the client, and the prefix of its tasks"""
VERSIONS = {"Observatory": observatory.__version__, "pyarrow": pa.__version__}
NOT_UNDERSTOOD = "Error during deserialization"
"""how distributed says that a scheduler lacks a module"""
Found = TypeVar("Found")
logger = logging.getLogger(__name__)


class OtherVersions(Exception):
    """A worker has other versions than this process."""


class Unusable(Exception):
    """The cluster can't be used now. The message says why, and what to do."""


@dataclass(slots=True)
class _Connection:
    """To the cluster, in this process."""

    client: Client | None = None
    paused_until: float = 0.0
    """by time.monotonic()"""


_connection, _lock = _Connection(), Lock()


class DaskWorkers:
    """A cluster's workers, for one scan."""

    is_here = False

    def __init__(self, client: Client, threads: int) -> None:
        self._client = client
        self.ahead = min(MOST_AHEAD, 2 * threads)
        self.failed = False

    def submit(self, here: Callable[[], Found], there: Callable[[], Found]) -> _Asked[Found]:
        return _Asked(self, here, there)

    def ask(self, read: Callable[[], Any]) -> DaskFuture[Any]:
        return _submitted(self._client, read_there, read, VERSIONS)

    def fail(self, error: BaseException) -> None:
        """Read here from now on."""
        self.failed = True
        _pause(_reason(error))


class _Asked(Generic[Found]):
    """A part of files."""

    def __init__(self, workers: DaskWorkers, here: Callable[[], Found], there: Callable[[], Found]) -> None:
        self._workers, self._here, self._there = workers, here, there
        self._future = None if workers.failed else workers.ask(there)

    def result(self) -> Found:
        if self._future is None or self._workers.failed:
            return self._read_here()
        try:
            return self._future.result(timeout=LONGEST)  # type: ignore[no-any-return]
        except ArchiveError as error:
            found = self._read_here()  # which fails as well if it isn't the worker's fault
            self._workers.fail(error)
            return found
        except Exception as error:
            self._workers.fail(error)
            return self._read_here()
        finally:
            self._future.release()

    def cancel(self) -> None:
        if self._future is not None:
            self._future.cancel()

    def _read_here(self) -> Found:
        return Threads().submit(self._here, self._there).result()


def read_there(read: Callable[[], Found], versions: dict[str, str]) -> Found:
    """On a worker. Raises OtherVersions and ArchiveError."""
    with _on_worker(versions):
        return read()


def look_there(place: Place, versions: dict[str, str]) -> None:
    """On a worker: test that it has these versions and reaches the archive. Raises as `read_there`."""
    with _on_worker(versions):
        place.require_mark()


@contextmanager
def _on_worker(versions: dict[str, str]) -> Iterator[None]:
    """Says of errors on which worker they are. Raises OtherVersions before the block."""
    _compare(versions)
    try:
        yield
    except ArchiveError as error:
        raise type(error)(f"its worker {get_worker().address} says: {error}") from error


def _compare(versions: dict[str, str]) -> None:
    if differing := [name for name in VERSIONS if VERSIONS[name] != versions.get(name)]:
        own = ", ".join(f"{name} {VERSIONS[name]}" for name in differing)
        asked = ", ".join(f"{name} {versions.get(name)}" for name in differing)
        raise OtherVersions(f"its worker {get_worker().address} has {own}, and the server {asked}")


def check(place: Place) -> int:
    """The number of workers, of which up to MOST_LOOKED_AT are asked. Raises Unusable."""
    client = connected()
    threads = threads_of(client)
    asked = [
        _submitted(client, look_there, place, VERSIONS, workers=[worker])
        for worker in sorted(threads)[:MOST_LOOKED_AT]
    ]
    try:
        for each in asked:
            each.result(timeout=LONGEST)
    except Exception as error:
        raise Unusable(_reason(error)) from error
    return len(threads)


def _submitted(client: Client, function: Callable[..., Any], *values: Any, **options: Any) -> DaskFuture[Any]:
    """A task whose key says nothing of what it reads."""
    return client.submit(function, *values, key=f"{NAME}-{uuid.uuid4().hex}", pure=False, **options)


def dask_workers() -> DaskWorkers | None:
    """Those of the cluster that settings name; None while it can't be used, which the log says."""
    # while one thread connects, the scans of others run here
    if not _lock.acquire(blocking=False):
        return None
    try:
        if monotonic() < _connection.paused_until:
            return None
        try:
            client = connected()
            return DaskWorkers(client, sum(threads_of(client).values()))
        except Unusable as error:
            _pause(str(error))
            return None
    finally:
        _lock.release()


def connected() -> Client:
    """The client of this process. Raises Unusable."""
    address = settings.SCAN_SCHEDULER
    if _connection.client is not None and _connection.client.status == "running":
        return _connection.client
    try:
        _connection.client = Client(address, timeout=ANSWERS_WITHIN, set_as_default=False, name=NAME)
    except (OSError, TimeoutError, ValueError) as error:
        raise Unusable(f"it does not answer ({_line(error)}): see that it runs and is reachable") from error
    return _connection.client


def threads_of(client: Client) -> dict[str, int]:
    """The numbers of threads by worker. Raises Unusable."""
    scheduler: Any = client.scheduler
    try:
        found: dict[str, int] = client.sync(scheduler.ncores, callback_timeout=ANSWERS_WITHIN)
    except (OSError, TimeoutError) as error:
        raise Unusable(f"it does not answer ({_line(error)}): see that it runs and is reachable") from error
    if not found:
        raise Unusable("it has no workers: start some, from Observatory's image")
    return found


def disconnect() -> None:
    """Forget the cluster, and that it failed."""
    if _connection.client is not None:
        _connection.client.close()
    _forget()


def _pause(reason: str) -> None:
    _connection.paused_until = monotonic() + PAUSE
    logger.warning(
        "scans run here, not on the Dask cluster at %s, for %d s: %s", settings.SCAN_SCHEDULER, PAUSE, reason
    )


def _reason(error: BaseException) -> str:
    """Why files were not read on the cluster, and what to do."""
    text = _line(error)
    if isinstance(error, OtherVersions):
        return f"{text}: run workers from the image of the server's release"
    if isinstance(error, ImportError) or NOT_UNDERSTOOD in text:
        return f"it has no Observatory ({text}): run scheduler and workers from the server's image"
    if isinstance(error, ArchiveError):
        return f"{text.rstrip('.')}. Have the archive at the same place there, with a right to read it"
    if isinstance(error, TimeoutError):
        return f"a part of a file took it over {LONGEST:.0f} s"
    if isinstance(error, (CancelledError, OSError)):
        return f"the connection to it was lost ({text})"
    return text


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _forget() -> None:
    """A process that is forked has a connection of its own."""
    global _connection, _lock
    _connection, _lock = _Connection(), Lock()


os.register_at_fork(after_in_child=_forget)
