"""uvicorn's HTTP protocol, with a timeout for requests that are sent only in part."""

from __future__ import annotations

import asyncio
from typing import Any

from django.conf import settings
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class HttpProtocol(HttpToolsProtocol):
    """Disconnects a client that doesn't complete its request.

    A header must be complete `settings.REQUEST_TIMEOUT` seconds after its first byte. Some of a body must
    arrive in each such period, unless the application doesn't read it.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # what follows a request without beginning another one ended uvicorn's own timeout
        if self._timer is None and self in self.connections and self.cycle and self.cycle.response_complete:
            self._start_timer()

    def handle_websocket_upgrade(self) -> None:
        super().handle_websocket_upgrade()
        self._stop_timer()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._start_timer()

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._start_timer()

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._start_timer()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._stop_timer()

    def _start_timer(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(settings.REQUEST_TIMEOUT, self._time_out, self.flow.read_paused)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self, was_paused: bool) -> None:
        if was_paused:  # the application did not read; from now on the client has the whole period again
            self._start_timer()
        else:
            self.transport.close()
