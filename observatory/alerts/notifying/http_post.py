"""Posts to an HTTP address, with a time limit and without following redirects."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from uuid import UUID

import aiohttp

from observatory.alerts.notifying.errors import SendError, scrub
from observatory.alerts.notifying.receiver_addresses import guarded_socket

TIMEOUT = 10.0
"""seconds, including the look-up of the host name"""
LONGEST_ANSWER = 64 * 2**10
"""bytes of an answer that are read"""
AGENT = {"User-Agent": "dask-observatory"}


class RefusedError(SendError):
    """The receiver answered with an error."""

    def __init__(self, status: int, retry_after: float | None, what: str = "") -> None:
        """`retry_after`: the seconds in which the receiver wants no request; None: it doesn't say.

        `what`: was refused, where that isn't clear.
        """
        super().__init__(f"It answered {status} {_phrase(status)}{what and f' to {what}'}.")
        self.status = status
        self.retry_after = retry_after


def post(address: str, body: Any, message_id: UUID) -> None:
    """Posts JSON. Raises SendError unless the response is a success."""
    headers = {"Idempotency-Key": str(message_id), "Content-Type": "application/json"}
    post_bytes(address, json.dumps(body).encode(), headers)


def post_bytes(address: str, body: bytes, headers: Mapping[str, str]) -> bytes:
    """Returns the beginning of the answer. Raises SendError unless it is a success."""
    return asyncio.run(_post(address, body, {**AGENT, **headers}))


async def _post(address: str, body: bytes, headers: dict[str, str]) -> bytes:
    timeout = aiohttp.ClientTimeout(total=TIMEOUT)
    try:
        async with (
            aiohttp.ClientSession(
                timeout=timeout, connector=aiohttp.TCPConnector(socket_factory=guarded_socket)
            ) as session,
            session.post(address, data=body, headers=headers, allow_redirects=False) as response,
        ):
            if 300 <= response.status < 400:
                raise SendError(
                    f"It answered {response.status}, a redirect. Redirects aren't followed: enter the target."
                )
            if not response.ok:
                raise RefusedError(response.status, _retry_after(response.headers))
            return await _beginning(response.content)
    except TimeoutError:
        raise SendError(f"It didn't answer within {TIMEOUT:.0f} s.") from None
    except aiohttp.ClientConnectorError as error:
        raise SendError(scrub(f"It can't be reached: {_reason(error)}.", address)) from None
    except (aiohttp.ClientError, ValueError, OSError) as error:
        raise SendError(scrub(f"The connection failed: {type(error).__name__} {error}", address)) from None


async def _beginning(content: aiohttp.StreamReader) -> bytes:
    found = b""
    while len(found) < LONGEST_ANSWER and (more := await content.read(LONGEST_ANSWER - len(found))):
        found += more
    return found


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds until the receiver wants another request. A date is by its own clock, as Date."""
    text = headers.get("Retry-After", "")
    if text.isascii() and text.isdecimal():
        return float(text)
    until, at = _time(text), _time(headers.get("Date", ""))
    return None if until is None or at is None else max((until - at).total_seconds(), 0.0)


def _time(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


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
