"""The WebSocket to a scheduler's event stream.

The stream's scheduler plugin has one fixed name. A second subscriber's plugin replaces that of the first,
whose socket stays open without messages. When either socket closes, the scheduler removes the plugin by name,
whichever subscriber it belongs to. So the old socket has to be closed before subscribing again, and a stolen
stream has to be detected from other data (stolen_stream.py).
"""

from __future__ import annotations

from collections.abc import Callable

import aiohttp

from observatory.collect.http.fetch import Failure, FetchError, HttpClient, failure_of

HANDSHAKE_TIMEOUT = 5.0


class Subscription:
    """One WebSocket to a target's event stream."""

    def __init__(self, client: HttpClient, url: str) -> None:
        self.client = client
        self.url = url

    async def listen(self, opened: Callable[[], None], receive: Callable[[str], None]) -> str:
        """Subscribes, calls opened(), then receive(text) for each message. Returns why the stream ended.

        Raises FetchError when the handshake fails. When cancelled it closes the socket first,
        or leaves the handshake to be completed and closed (http/handshakes.py).
        """
        try:
            socket = await self.client.connect(self.url, HANDSHAKE_TIMEOUT)
        except aiohttp.WSServerHandshakeError as error:
            reason = f"its event stream answered with status {error.status}"
            raise FetchError(Failure.ANSWER, reason, error.status) from None
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise failure_of(error, HANDSHAKE_TIMEOUT) from error
        async with socket:
            opened()
            async for message in socket:
                if message.type is aiohttp.WSMsgType.TEXT:
                    receive(message.data)
        if isinstance(socket.exception(), aiohttp.WebSocketError):
            return f"a message was refused: {socket.exception()}"[:200]
        return "it was closed"
