"""Posts JSON to an HTTP address, with a time limit and without following redirects."""

from __future__ import annotations

import asyncio
import os
from http import HTTPStatus
from typing import Any
from uuid import UUID

import aiohttp

from observatory.alerts.notifying.errors import SendError, scrub
from observatory.alerts.notifying.receiver_addresses import guarded_socket

TIMEOUT = 10.0
"""seconds, including the look-up of the host name"""


def post(address: str, body: Any, message_id: UUID) -> None:
    """Raises SendError unless the response is a success."""
    headers = {"Idempotency-Key": str(message_id), "User-Agent": "dask-observatory"}
    asyncio.run(_post(address, body, headers))


async def _post(address: str, body: Any, headers: dict[str, str]) -> None:
    timeout = aiohttp.ClientTimeout(total=TIMEOUT)
    try:
        async with (
            aiohttp.ClientSession(
                timeout=timeout, connector=aiohttp.TCPConnector(socket_factory=guarded_socket)
            ) as session,
            session.post(address, json=body, headers=headers, allow_redirects=False) as response,
        ):
            if 300 <= response.status < 400:
                raise SendError(
                    f"It answered {response.status}, a redirect. Redirects aren't followed: enter the target."
                )
            if not response.ok:
                raise SendError(f"It answered {response.status} {_phrase(response.status)}.")
    except TimeoutError:
        raise SendError(f"It didn't answer within {TIMEOUT:.0f} s.") from None
    except aiohttp.ClientConnectorError as error:
        raise SendError(scrub(f"It can't be reached: {_reason(error)}.", address)) from None
    except (aiohttp.ClientError, ValueError, OSError) as error:
        raise SendError(scrub(f"The connection failed: {type(error).__name__} {error}", address)) from None


def _phrase(status: int) -> str:
    """The status' usual phrase: what the server says itself may be anybody's data, and isn't shown."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "(no known status)"


def _reason(error: aiohttp.ClientConnectorError) -> str:
    """asyncio's own texts contain the address. The error numbers of unknown hosts aren't positive."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or "no connection"
