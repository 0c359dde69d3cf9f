"""Runs that need no server: `observatory.run(…, to="run.observatory.zip")`.

The agent is in the cluster for as long as the run, and reports to the process of the client, which writes the
bundle at the end.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Any, Protocol

from distributed import Client
from distributed.comm.addressing import get_address_host, parse_address

from observatory.agent import install, remove
from observatory.agent.runs import OpenRun
from observatory.wire.client_code.runs import METADATA

FIRST_BATCH = 20.0
"""Most seconds until the agent's first batch; it sends one each second."""
LOOPBACK = "127.0.0.1"
NO_CLIENT = "there is no Dask client: make one before the run"
HAS_AGENT = (
    "the cluster has an agent already, which reports elsewhere: export the run there, or remove the agent"
)
NO_PLAIN_TEXT = "the cluster uses TLS on other machines, and records would leave it unencrypted"


class Recording(Protocol):
    """What takes the agent's batches: client/recording.py."""

    path: Path
    arrived: Event

    def open(self, host: str) -> dict[str, str]: ...
    def write(self, run: str) -> None: ...
    def close(self) -> None: ...


class RecordedRun(OpenRun):
    """A run that is written to a bundle when its block is left, also by an exception.

    What would keep it from being recorded raises before the block begins, and is logged after it.
    """

    recording: Callable[[str | os.PathLike[str]], Recording] | None = None
    """makes one; observatory/__init__.py sets it, for agents have no client"""

    def __init__(
        self, client: Client | None, description: dict[str, Any], path: str | os.PathLike[str]
    ) -> None:
        """Raises OSError, ValueError and ModuleNotFoundError where no bundle could be written to `path`."""
        super().__init__(client, description)
        if RecordedRun.recording is None:
            raise ValueError("to= is of observatory.run, not of observatory.agent.run")
        self._recording = RecordedRun.recording(path)
        self.file = str(self._recording.path)
        self._is_written = False

    @property
    def is_recorded(self) -> bool:
        return self._is_written if self._ended else super().is_recorded

    def __enter__(self) -> OpenRun:
        """Raises RuntimeError, ValueError and OSError where the run can't be recorded."""
        client = self._existing_client()
        if client.asynchronous:
            raise ValueError("the client is asynchronous: open the run with `async with`")
        try:
            client.sync(self._install)
            super().__enter__()
        except BaseException:
            self._recording.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, traceback)
        try:
            self._client.sync(remove, self._client)
        except Exception as failure:  # the cluster is gone: what arrived is written
            self.warn(f"its last records may be missing: {type(failure).__name__}: {failure}")
        self._write()

    async def __aenter__(self) -> OpenRun:
        if not self._existing_client().asynchronous:
            return await asyncio.to_thread(self.__enter__)
        try:
            await self._install()
            await super().__aenter__()
        except BaseException:
            self._recording.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._client.asynchronous:
            await asyncio.to_thread(self.__exit__, kind, error, traceback)
            return
        await super().__aexit__(kind, error, traceback)
        try:
            await remove(self._client)
        except Exception as failure:
            self.warn(f"its last records may be missing: {type(failure).__name__}: {failure}")
        await asyncio.to_thread(self._write)

    def _existing_client(self) -> Client:
        if self._client is None:
            try:
                self._client = Client.current()
            except ValueError:
                raise ValueError(NO_CLIENT) from None
        client: Client = self._client
        return client

    async def _install(self) -> None:
        """Installs the agent, and waits until it reports. Runs on the client's event loop."""
        client = self._client
        if await client.scheduler.get_metadata(keys=[METADATA], default=False):
            raise RuntimeError(HAS_AGENT)
        settings = self._recording.open(_own_host(client))
        await install(client, **settings)
        if not await asyncio.to_thread(self._recording.arrived.wait, FIRST_BATCH):
            await remove(client)
            raise ConnectionError(f"the scheduler can't reach this process at {settings['url']}")

    def _write(self) -> None:
        try:
            self._recording.write(self.id)
            self._is_written = True
        except Exception as failure:
            self.warn(f"{self._recording.path} isn't written: {failure}")
        finally:
            self._recording.close()


def _own_host(client: Any) -> str:
    """The address of this machine by which the scheduler reaches it. Raises RuntimeError."""
    comm = client.scheduler_comm.comm
    protocol = parse_address(comm.peer_address)[0]
    if protocol == "inproc":
        return LOOPBACK
    own: str = get_address_host(comm.local_address)
    if protocol in ("tls", "wss") and own != get_address_host(comm.peer_address):
        raise RuntimeError(NO_PLAIN_TEXT)
    return own
